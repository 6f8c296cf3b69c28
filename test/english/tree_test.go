// Package english checks the English in the tree: docs, comments, help, errors, log lines and API descriptions stay
// easy to read. The test counts words that make sentences hard: pronouns without a noun, and "of". CONTRIBUTING.md has
// the rules for writers.
package english

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

// root is the top folder.
const root = "../.."

// text is a piece of English in a file.
type text struct {
	path string // relative to root, with slashes
	line int
	kind string
	text string
	// context is the code around a message: the called function or the field. Empty for other kinds.
	context string
}

// built are directories with build results or host data. Git ignores them.
var built = []string{"bin", "dist", "node_modules", "signalbox-data", "__pycache__"}

// readers read the texts of a file, by file name extension.
var readers = map[string]func(path, content string) []text{
	".go": readGo, ".md": readMarkdown, ".py": readPython, ".js": readScript,
	".json": readOpenAPI, ".txt": readFamilies, ".yaml": readAlerts,
}

// readTree returns all texts of the tree, sorted by path. The tree is read once.
func readTree(t *testing.T) []text {
	t.Helper()
	if read == nil {
		read = readFiles(t)
	}
	return read
}

// read has the texts after the first readTree.
var read []text

func readFiles(t *testing.T) []text {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() {
			hidden := strings.HasPrefix(entry.Name(), ".") && len(entry.Name()) > 2
			if hidden || entry.Name() == "testdata" || slices.Contains(built, entry.Name()) {
				return fs.SkipDir
			}
			return nil
		}
		if readers[filepath.Ext(name)] != nil {
			paths = append(paths, name)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	found := make([][]text, len(paths))
	var group sync.WaitGroup
	for i, name := range paths {
		group.Go(func() {
			content, err := os.ReadFile(name)
			if err != nil {
				t.Error(err)
				return
			}
			path := filepath.ToSlash(strings.TrimPrefix(name, root+string(filepath.Separator)))
			found[i] = readers[filepath.Ext(name)](path, string(content))
		})
	}
	group.Wait()
	return slices.Concat(found...)
}

// inTest reports whether a file is a test, or supports tests or benchmarks only.
func inTest(path string) bool {
	_, below, _ := strings.Cut(path, "/")
	return strings.HasPrefix(path, "test/") || strings.HasPrefix(path, "bench/") || strings.Contains(below, "test/") ||
		strings.HasSuffix(path, "test.go")
}
