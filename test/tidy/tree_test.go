// Package tidy checks the rules in CONTRIBUTING.md that a program can check: words, comments, sizes, and permitted
// imports between rooms.
package tidy

import (
	"flag"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// root is the tree's root directory.
const root = "../.."

// room limits the checks to a folder, for cleanups there.
var room = flag.String("room", "", "check only the files under this folder, such as server/watch")

// source is a Go file in the tree.
type source struct {
	path string // from the tree's root, with slashes
	text string
	file *ast.File
	set  *token.FileSet
}

// line returns a position's line.
func (s *source) line(p token.Pos) int { return s.set.Position(p).Line }

// test reports whether the file is compiled for tests alone.
func (s *source) test() bool { return strings.HasSuffix(s.path, "_test.go") }

// product reports whether the file is no test and no rig for tests or comparisons.
func (s *source) product() bool {
	return !s.test() && !slices.ContainsFunc(strings.Split(s.folder(), "/"), func(part string) bool {
		return part == "bench" || strings.HasSuffix(part, "test")
	})
}

// folder is the file's folder, from the tree's root.
func (s *source) folder() string { return path.Dir(s.path) }

// sources parses every Go file in the tree, or in the requested room.
func sources(t *testing.T) (all []*source) {
	t.Helper()
	err := filepath.WalkDir(filepath.Join(root, filepath.FromSlash(*room)),
		func(name string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() {
				hidden := strings.HasPrefix(entry.Name(), ".") && entry.Name() != ".." && entry.Name() != ".ci"
				if hidden || entry.Name() == "testdata" || entry.Name() == "node_modules" {
					return fs.SkipDir
				}
				return nil
			}
			if !strings.HasSuffix(name, ".go") {
				return nil
			}
			text, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			relative, err := filepath.Rel(root, name)
			if err != nil {
				return err
			}
			s := &source{path: filepath.ToSlash(relative), text: string(text), set: token.NewFileSet()}
			if s.file, err = parser.ParseFile(s.set, name, text, parser.ParseComments); err != nil {
				return err
			}
			all = append(all, s)
			return nil
		})
	if err != nil {
		t.Fatal(err)
	}
	return all
}
