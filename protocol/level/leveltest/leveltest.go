// Package leveltest holds what a package has against the table of feature levels, in its tests.
package leveltest

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol/level"
)

// Constants counts the constants of a type that the package in the working directory gives values.
func Constants(t *testing.T, typeName string) (n int) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, 0)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			if spec, ok := node.(*ast.ValueSpec); ok && len(spec.Values) > 0 {
				if of, ok := spec.Type.(*ast.Ident); ok && of.Name == typeName {
					n += len(spec.Names)
				}
			}
			return true
		})
	}
	if n == 0 {
		t.Fatalf("no constants of type %s", typeName)
	}
	return n
}

// Named returns the names that are not empty.
func Named(names []string) (list []string) {
	for _, name := range names {
		if name != "" {
			list = append(list, name)
		}
	}
	return list
}

// Fields returns the fields of structs as the table of levels names them.
func Fields(structs ...any) (names []string) {
	for _, of := range structs {
		x := reflect.TypeOf(of)
		for i := range x.NumField() {
			names = append(names, x.Name()+"."+x.Field(i).Name)
		}
	}
	return names
}

// Check fails the test where something has no row in the table, or the table a row for what is not there.
func Check(t *testing.T, have map[level.Kind][]string) {
	t.Helper()
	rows := map[level.Kind]map[string]bool{}
	for _, r := range level.Rows() {
		if rows[r.Kind] == nil {
			rows[r.Kind] = map[string]bool{}
		}
		rows[r.Kind][r.Name] = true
		if r.Level > level.Newest+1 {
			t.Errorf("%v %s comes with level %d, the newest is %d", r.Kind, r.Name, r.Level, level.Newest)
		}
	}
	for kind, names := range have {
		for _, name := range names {
			if !rows[kind][name] {
				t.Errorf("%v %s has no row in protocol/level/table.go", kind, name)
			}
			delete(rows[kind], name)
		}
		for name := range rows[kind] {
			t.Errorf("protocol/level/table.go has a row for the %v %s, which is not there", kind, name)
		}
	}
}
