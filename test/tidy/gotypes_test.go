package tidy

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

const goTypesHead = `# Go types of rollouts and processes

The packages [client/rollout](rollouts.md#in-go) and [client/process](processes.md#in-go) share these types and
constants with the hosts, so ` + "`go doc client/rollout`" + ` shows aliases without fields. In the constants, ` + "`kind`" + ` is
the package ` + "`protocol/rollout` or `protocol/process`" + `, which also documents the methods. A test generates this page.
`

// TestTheGoTypesPageIsCurrent compares docs/go-types.md with the types and constants that clients share with hosts. To
// update the page: go test ./test/tidy -run GoTypes -update
func TestTheGoTypesPageIsCurrent(t *testing.T) {
	page := goTypesHead
	for _, name := range []string{"rollout", "process"} {
		page += fmt.Sprintf("\n## Package client/%s\n\n```golang\n%s```\n", name, sharedTypes(t, name))
	}
	path := filepath.Join(root, "docs", "go-types.md")
	if *update {
		if err := os.WriteFile(path, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if was, _ := os.ReadFile(path); string(was) != page {
		t.Errorf("%s is not current; go test ./test/tidy -run GoTypes -update writes it anew", path)
	}
}

var fieldTag = regexp.MustCompile(" +`[^`]*`")

// sharedTypes returns the declarations in a client package's types.go, with a struct in place of each alias, and with
// a constant's text in place of its name.
func sharedTypes(t *testing.T, name string) string {
	t.Helper()
	types, texts := make(map[string]string), make(map[string]string)
	for _, folder := range []string{"protocol/field", "protocol/" + name} {
		files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(folder), "*.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			for d, text := range declarations(t, file) {
				for _, spec := range d.Specs {
					switch s := spec.(type) {
					case *ast.TypeSpec:
						if !s.Assign.IsValid() { // package field declares the others
							types[s.Name.Name] = text
						}
					case *ast.ValueSpec:
						if v, ok := append(s.Values, nil)[0].(*ast.BasicLit); ok && v.Kind == token.STRING {
							texts[s.Names[0].Name] = v.Value
						}
					}
				}
			}
		}
	}
	var page strings.Builder
	for d, text := range declarations(t, filepath.Join(root, "client", name, "types.go")) {
		if d.Tok == token.CONST {
			page.WriteString(regexp.MustCompile(`kind\.\w+`).ReplaceAllStringFunc(text, func(s string) string {
				if said, ok := texts[strings.TrimPrefix(s, "kind.")]; ok {
					return said
				}
				return s
			}) + "\n\n")
		}
		for _, spec := range d.Specs {
			if s, ok := spec.(*ast.TypeSpec); ok {
				text := types[s.Type.(*ast.SelectorExpr).Sel.Name]
				if text == "" {
					t.Fatalf("package protocol/%s declares no type %s", name, s.Name.Name)
				}
				text = strings.ReplaceAll(text, "field.Timestamp", "client.Timestamp")
				page.WriteString(fieldTag.ReplaceAllString(text, "") + "\n\n")
			}
		}
	}
	source, err := format.Source([]byte(strings.TrimSpace(page.String()) + "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return string(source)
}

// declarations yields a file's declarations except imports and functions, with their source and comment.
func declarations(t *testing.T, file string) func(yield func(*ast.GenDecl, string) bool) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	set := token.NewFileSet()
	parsed, err := parser.ParseFile(set, file, source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	return func(yield func(*ast.GenDecl, string) bool) {
		for _, decl := range parsed.Decls {
			d, ok := decl.(*ast.GenDecl)
			if !ok || d.Tok == token.IMPORT {
				continue
			}
			start, end := d.Pos(), set.File(d.End()).Offset(d.End())
			if d.Doc != nil {
				start = d.Doc.Pos()
			}
			for end < len(source) && source[end] != '\n' {
				end++ // a comment behind the declaration
			}
			if !yield(d, string(source[set.File(start).Offset(start):end])) {
				return
			}
		}
	}
}
