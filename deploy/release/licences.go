package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// licenceName matches top-level files in a module that contain the licence terms.
var licenceName = regexp.MustCompile(`(?i)^(licen[cs]e|copying|notice)([.-].*)?$`)

// licences returns the licence texts for all modules in a product and for the Go library, because most licences must be
// distributed with binaries. A module without a licence is an error, so it is found before a release.
func (j *job) licences(p *product) ([]byte, error) {
	cmd := j.goTool(p, "list", "-deps", "-f",
		"{{with .Module}}{{if not .Main}}{{.Path}} {{.Version}} {{.Dir}}{{end}}{{end}}", p.pkg)
	var failed bytes.Buffer
	cmd.Stderr = &failed
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("list the modules: %w\n%s", err, failed.String())
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	slices.Sort(lines)
	library, err := j.goTool(p, "env", "GOVERSION", "GOROOT").Output()
	if err != nil {
		return nil, fmt.Errorf("find the Go library: %w", err)
	}
	version, dir, _ := strings.Cut(strings.TrimSpace(string(library)), "\n")
	text := bytes.NewBufferString("Licences of the code that is linked into " + p.name + "\n")
	if err := appendLicence(text, "The Go library "+version, dir); err != nil {
		return nil, err
	}
	for _, line := range slices.Compact(lines) {
		parts := strings.SplitN(line, " ", 3)
		if len(parts) < 3 || parts[1] == "" || strings.HasPrefix(parts[0], "github.com/signalbox/signalbox") {
			continue // Go library packages and source tree modules
		}
		if err := appendLicence(text, parts[0]+" "+parts[1], parts[2]); err != nil {
			return nil, err
		}
	}
	return text.Bytes(), nil
}

// appendLicence writes all top-level licences in a module, with the module name.
func appendLicence(to *bytes.Buffer, subject, dir string) error {
	files, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := 0
	for _, f := range files {
		if f.IsDir() || !licenceName.MatchString(f.Name()) {
			continue
		}
		found++
		text, err := os.ReadFile(filepath.Join(dir, f.Name()))
		if err != nil {
			return err
		}
		fmt.Fprintf(to, "\n%s\n%s (%s)\n\n%s", strings.Repeat("-", 80), subject, f.Name(), text)
	}
	if found == 0 {
		return fmt.Errorf("%s has no licence in %s", subject, dir)
	}
	return nil
}
