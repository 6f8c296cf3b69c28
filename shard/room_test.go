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

// kindWords are the words for the object kinds.
var kindWords = []string{"semaphore", "rollout", "process"}

// coreMayName are kind-specific names known to users, with a place in the core.
var coreMayName = []string{
	"MaxSemaphoresPerNode",         // bounds the objects in a node
	"Semaphores", "SemaphoreState", // a field in State
	"SemaphoreView", // embedded in Description
}

// kindFiles have all kind numbers and command numbers.
var kindFiles = []string{"kinds.go", "command_rows.go"}

// TestTheCoreNamesNoKindOfObjects: the contract has one place for kind numbers, and the machine has none.
func TestTheCoreNamesNoKindOfObjects(t *testing.T) {
	for _, pattern := range []string{"*.go", "machine/*.go", "machine/machinetest/*.go"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) < 3 {
			t.Fatal(paths, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.go") || slices.Contains(kindFiles, path) {
				continue
			}
			file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			ast.Inspect(file, func(n ast.Node) bool {
				id, ok := n.(*ast.Ident)
				if !ok || slices.Contains(coreMayName, id.Name) {
					return true
				}
				for _, word := range kindWords {
					if strings.Contains(strings.ToLower(id.Name), word) {
						t.Errorf("%s has the name %s: the core does not know a %s", path, id.Name, word)
					}
				}
				return true
			})
		}
	}
}
