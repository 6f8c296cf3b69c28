package shard

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// rooms are the beginnings of the names of the files in which a kind of objects lives.
var rooms = []string{"semaphore", "rollout", "process"}

// coreMayName are what users know of one kind and the core has a place for.
var coreMayName = []string{
	"MaxSemaphoresPerNode",         // bounds the objects of a node
	"Semaphores", "SemaphoreState", // a field of State
	"SemaphoreView", // embedded in Description
}

// roomOf returns the room that a file belongs to, "" for the core.
func roomOf(file string) string {
	for _, room := range rooms {
		if strings.HasPrefix(file, room) {
			return room
		}
	}
	return ""
}

// declared returns the names that a file declares at its top, but for methods.
func declared(file *ast.File) (names []string) {
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			if d.Recv == nil && d.Name.Name != "init" {
				names = append(names, d.Name.Name)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				switch spec := spec.(type) {
				case *ast.TypeSpec:
					names = append(names, spec.Name.Name)
				case *ast.ValueSpec:
					for _, name := range spec.Names {
						names = append(names, name.Name)
					}
				}
			}
		}
	}
	return names
}

// TestTheCoreNamesNoKindOfObjects: the files of the core use nothing that a kind declares, and no word of it.
func TestTheCoreNamesNoKindOfObjects(t *testing.T) {
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files, ofRoom := map[string]*ast.File{}, map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		if files[path], err = parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution); err != nil {
			t.Fatal(err)
		}
		if room := roomOf(path); room != "" {
			for _, name := range declared(files[path]) {
				ofRoom[name] = room
			}
		}
	}
	if ofRoom["semaphores"] == "" || len(ofRoom) < 10 {
		t.Fatalf("the rooms of the kinds declare next to nothing: %v", ofRoom)
	}
	for path, file := range files {
		if roomOf(path) != "" {
			continue
		}
		fields := map[*ast.Ident]bool{} // and methods: those of other types may have the names of what a room declares
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.SelectorExpr:
				fields[n.Sel] = true
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok {
					fields[key] = true
				}
			case *ast.Field:
				for _, name := range n.Names {
					fields[name] = true
				}
			}
			id, ok := n.(*ast.Ident)
			if !ok || slices.Contains(coreMayName, id.Name) {
				return true
			}
			if room := ofRoom[id.Name]; room != "" && !fields[id] {
				t.Errorf("%s names %s, which is of the room %s", path, id.Name, room)
			}
			for _, room := range rooms {
				if strings.Contains(strings.ToLower(id.Name), room) {
					t.Errorf("%s has the name %s: the core does not know %ss", path, id.Name, room)
				}
			}
			return true
		})
	}
}
