package snippets

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"os/exec"
	"strings"
)

// Compile compiles each block, with packages resolved in a module's directory. Unused declarations and imports are no
// errors: a page shows only part of a program, and the rest would use them.
func Compile(dir string, all []*Snippet) error {
	fset := token.NewFileSet()
	var files []*ast.File
	var failures []error
	imported := make(map[string]bool)
	for _, s := range all {
		f, err := parser.ParseFile(fset, s.String(), s.file(), parser.SkipObjectResolution)
		if err != nil {
			failures = append(failures, fmt.Errorf("%v: %w", s, err))
			continue
		}
		for _, i := range f.Imports {
			imported[strings.Trim(i.Path.Value, `"`)] = true
		}
		files = append(files, f)
	}
	if len(files) == 0 {
		return errors.Join(failures...)
	}
	exports, err := exportsOf(dir, imported)
	if err != nil {
		return err
	}
	from := importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("snippets: no package %s", path)
		}
		return os.Open(exports[path])
	})
	for _, f := range files {
		config := types.Config{Importer: from, Error: func(err error) {
			var e types.Error
			if !errors.As(err, &e) || !e.Soft {
				failures = append(failures, err)
			}
		}}
		_, _ = config.Check("snippet", fset, []*ast.File{f}, nil) // Error has all errors
	}
	return errors.Join(failures...)
}

// exportsOf returns the compiled files for the packages and all their imports: the go command compiles missing packages
// on demand.
func exportsOf(dir string, packages map[string]bool) (map[string]string, error) {
	args := []string{"list", "-export", "-deps", "-f", "{{.ImportPath}}={{.Export}}"}
	for p := range packages {
		args = append(args, p)
	}
	command := exec.Command("go", args...)
	command.Dir = dir
	var problems strings.Builder
	command.Stderr = &problems
	out, err := command.Output()
	if err != nil {
		return nil, fmt.Errorf("snippets: go list in %s: %w\n%s", dir, err, problems.String())
	}
	exports := make(map[string]string)
	for line := range strings.Lines(string(out)) {
		path, file, _ := strings.Cut(strings.TrimSpace(line), "=")
		exports[path] = file
	}
	return exports, nil
}
