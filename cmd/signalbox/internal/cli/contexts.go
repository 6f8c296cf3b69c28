package cli

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"go.yaml.in/yaml/v3"
)

// Context contains a cluster's connection settings, by name.
type Context map[string]string

// Contexts is the context file: clusters by user-defined names.
type Contexts struct {
	// Current is the context used if the user specifies none; empty for none.
	Current  string             `yaml:"current,omitempty"`
	Contexts map[string]Context `yaml:"contexts,omitempty"`

	path string
}

// maxContexts is the maximum context file size in bytes.
const maxContexts = 1 << 20

// ContextsPath returns the context file's path: from SIGNALBOX_CONTEXT_FILE, or a file in the user's configuration
// directory; empty for a user without such a directory.
func (s Streams) ContextsPath() string {
	if path := s.Variable(ContextsVariable); path != "" {
		return path
	}
	folder := s.Variable("XDG_CONFIG_HOME")
	if folder == "" {
		home := s.Variable("HOME")
		if home == "" {
			return ""
		}
		folder = filepath.Join(home, ".config")
	}
	return filepath.Join(folder, "signalbox", "contexts.yaml")
}

// LoadContexts reads the context file. A missing file contains no contexts.
func (s Streams) LoadContexts() (*Contexts, error) {
	c := &Contexts{path: s.ContextsPath()}
	if c.path == "" {
		return c, nil
	}
	data, err := readSmall(c.path, maxContexts)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return c, nil
	case err != nil:
		return nil, Errorf(ExitUsage, "cannot read the contexts: %w", err)
	}
	if err := DecodeYAML(data, c); err != nil {
		return nil, Errorf(ExitUsage, "cannot read the contexts in %s: %w; signalbox help connection shows the "+
			"file format", c.path, err)
	}
	for _, name := range c.Names() {
		for key := range c.Contexts[name] {
			if !slices.ContainsFunc(settings, func(s setting) bool { return s.name == key }) {
				return nil, Errorf(ExitUsage, "cannot read the contexts in %s: context %s has the unknown "+
					"setting %q; settings are %s", c.path, Safe(name), key,
					strings.Join(Map(settings, func(s setting) string { return s.name }), ", "))
			}
		}
	}
	return c, nil
}

// DecodeYAML decodes YAML, of which JSON is a subset. A key without a matching field is an error. Empty input changes
// nothing.
func DecodeYAML(data []byte, into any) error {
	d := yaml.NewDecoder(bytes.NewReader(data))
	d.KnownFields(true)
	err := d.Decode(into)
	if errors.Is(err, io.EOF) {
		return nil
	}
	wrong, ok := errors.AsType[*yaml.TypeError](err)
	if !ok {
		return err
	}
	problems := slices.Clone(wrong.Errors)
	for i, p := range problems {
		problems[i], _, _ = strings.Cut(p, " in type ") // a line without type names
	}
	return errors.New(strings.Join(problems, ", "))
}

// Names returns all context names, sorted.
func (c *Contexts) Names() []string { return slices.Sorted(maps.Keys(c.Contexts)) }

// Get returns the context with a name.
func (c *Contexts) Get(name string) (Context, error) {
	found, ok := c.Contexts[name]
	if ok {
		return found, nil
	}
	hint := "signalbox context set " + Safe(name) + " --endpoints HOST:PORT makes it"
	if len(c.Contexts) > 0 {
		hint = "there are " + strings.Join(c.Names(), ", ")
	}
	return nil, Errorf(ExitNotFound, "context %s does not exist; %s", Safe(name), hint)
}

// Set changes a context's settings, and creates a missing context. An empty text removes a setting.
func (c *Contexts) Set(name string, given Context) error {
	if name == "" || Safe(name) != name || strings.ContainsAny(name, " /\\") {
		return Errorf(ExitUsage, "%q is not a valid context name; use one word", name)
	}
	if len(given) == 0 {
		return Errorf(ExitUsage, "context %s has no settings; give --endpoints HOST:PORT or other flags listed "+
			"by signalbox help connection", name)
	}
	context := make(Context)
	maps.Copy(context, c.Contexts[name])
	for key, text := range given {
		context[key] = text
		if text == "" {
			delete(context, key)
		}
	}
	if len(c.Contexts) == 0 {
		c.Contexts, c.Current = make(map[string]Context), name
	}
	c.Contexts[name] = context
	return nil
}

// Given returns the settings given as flags, files with their full path.
func (f *Frame) Given(full func(path string) (string, error)) (Context, error) {
	given := make(Context)
	for _, s := range settings {
		text, ok := flagText(f.flags, s.name)
		if !ok {
			continue
		}
		if s.hint == "FILE" && text != "" {
			path, err := full(text)
			if err != nil {
				return nil, fmt.Errorf("--%s %s: %w", s.name, Safe(text), err)
			}
			text = path
		}
		given[s.name] = text
	}
	// The given settings must be valid by themselves.
	k := &Connection{given: make(map[string]Given)}
	for _, s := range settings {
		if k.given[s.name] = (Given{s.fallback, fromDefault}); given[s.name] != "" {
			k.given[s.name] = Given{given[s.name], fromFlag}
		}
	}
	_, err := k.timeout()
	_, wrong := k.tlsWanted()
	return given, cmp.Or(err, wrong)
}

// ChangeContexts reads the contexts, changes them, and writes the file, readable by its user only. A process that
// reads the file meanwhile sees the old or the new file, and a process that wants to change it waits.
func (s Streams) ChangeContexts(change func(*Contexts) error) error {
	path := s.ContextsPath()
	if path == "" {
		return Errorf(ExitUsage, "cannot write the contexts: HOME is not set; name a file with %s",
			ContextsVariable)
	}
	failed := func(err error) error { return fmt.Errorf("cannot write the contexts: %w", err) }
	path, err := behindLinks(path)
	if err != nil {
		return failed(err)
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return failed(err)
	}
	folder, err := os.Open(filepath.Dir(path))
	if err != nil {
		return failed(err)
	}
	defer folder.Close() // which also releases the lock
	if err := syscall.Flock(int(folder.Fd()), syscall.LOCK_EX); err != nil {
		return failed(err)
	}
	c, err := s.LoadContexts()
	if err != nil {
		return err
	}
	if err := change(c); err != nil {
		return err
	}
	data, err := yaml.Marshal(c)
	if err == nil {
		err = WriteWhole(path, func(w io.Writer) error {
			_, err := w.Write(data)
			return err
		})
	}
	if err != nil {
		return failed(err)
	}
	return nil
}

// maxLinks is the maximum number of successive symbolic links to the context file.
const maxLinks = 40

// behindLinks follows symbolic links to the file, which may not exist yet.
func behindLinks(path string) (string, error) {
	for range maxLinks {
		target, err := os.Readlink(path)
		if err != nil {
			return path, nil // the path is not a link, or does not exist
		}
		if !filepath.IsAbs(target) {
			target = filepath.Join(filepath.Dir(path), target)
		}
		path = target
	}
	return "", fmt.Errorf("%s: too many symbolic links", path)
}

// readSmall reads a file up to a size limit in bytes.
func readSmall(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("%s is longer than %d bytes", path, limit)
	}
	return data, err
}
