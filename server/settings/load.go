package settings

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Sources are where settings may be said. A flag goes before the environment, the environment before
// the file, and the file before the defaults.
type Sources struct {
	// Flags is what AddFlags returned, after the command line was parsed. Nil: there are no flags.
	Flags *Flags
	// Environment has lines of the form NAME=TEXT, as os.Environ returns them. An empty text counts as
	// nothing said.
	Environment []string
	// File is the path of a YAML file. Where it is empty, --config and SIGNALBOX_CONFIG name one.
	File string
}

// Load returns the settings that the sources say, complete and checked. The error is Mistakes: all of
// them. The settings are returned also then, as far as they could be understood, so that a message
// about them can be written the way that they ask for.
func Load(from Sources) (Settings, error) {
	s := Defaults()
	s.origins = make(map[string]string)
	n := &notebook{settings: &s}
	environment := variables(from.Environment)

	var file map[string]said
	if path, where := from.file(environment); path != "" {
		file = n.readFile(path, where)
	}
	for i := range table {
		r := &table[i]
		if found, ok := file[r.name]; ok {
			n.take(r, found)
		}
		if text := environment[r.variable()]; text != "" {
			n.take(r, said{[]string{text}, r.variable() + "=" + text})
		}
		if texts := from.Flags.said(r.name); len(texts) > 0 {
			n.take(r, said{texts, flagSaid(r, texts)})
		}
	}
	s.warnStrangers(environment)
	s.complete(n)
	n.check()
	return s, n.err()
}

// Validate tells all that is wrong with the settings, with an error that is Mistakes, or nil. Fields
// that are empty count as what follows from the others.
func (s Settings) Validate() error {
	n := &notebook{settings: &s}
	s.complete(n)
	n.check()
	return n.err()
}

// take puts what a source says into the settings.
func (n *notebook) take(r *row, from said) {
	n.settings.origins[r.name] = from.where
	err := r.field(n.settings).parse(from.texts)
	if err == nil {
		return
	}
	var wrong *badValue
	if !errors.As(err, &wrong) {
		wrong = &badValue{problem: err.Error(), remedy: "docs/settings.md shows how it is written"}
	}
	n.blame(r.name, wrong.problem, wrong.remedy)
}

// file is the path of the file of settings, and who named it.
func (from *Sources) file(environment map[string]string) (path, where string) {
	variable := variableOf(fileSetting)
	switch {
	case from.File != "":
		return from.File, "--" + fileSetting + " " + from.File
	case from.Flags != nil && len(from.Flags.config.said) > 0:
		path = last(from.Flags.config.said)
		return path, "--" + fileSetting + " " + path
	case environment[variable] != "":
		path = environment[variable]
		return path, variable + "=" + path
	}
	return "", ""
}

// variables are those of the environment that may be meant for this program.
func variables(environment []string) map[string]string {
	found := make(map[string]string)
	for _, line := range environment {
		if name, text, ok := strings.Cut(line, "="); ok && strings.HasPrefix(name, variablePrefix) {
			found[name] = strings.TrimSpace(text)
		}
	}
	return found
}

// warnStrangers warns of variables that look like misspelt settings. Others that begin like ours are
// nobody's mistake: Kubernetes makes SIGNALBOX_PORT and its like for a service of that name.
func (s *Settings) warnStrangers(environment map[string]string) {
	known := map[string]bool{variableOf(fileSetting): true}
	for i := range table {
		known[table[i].variable()] = true
	}
	for _, name := range slices.Sorted(maps.Keys(environment)) {
		if known[name] {
			continue
		}
		if near := nearest(strings.TrimPrefix(name, variablePrefix)); near != "" {
			s.warnings = append(s.warnings,
				fmt.Sprintf("%s is no setting and counts for nothing; did you mean %s?", name, variableOf(near)))
		}
	}
}

// flagSaid shows a flag as it was given.
func flagSaid(r *row, texts []string) string {
	flag := "--" + r.flagName()
	if r.bare() != "" {
		return flag + "=" + strings.Join(texts, ",")
	}
	return flag + " " + strings.Join(texts, " "+flag+" ")
}
