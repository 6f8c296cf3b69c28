package tidy

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fileName matches file and folder names in documents and comments.
var fileName = regexp.MustCompile("`((?:[a-zA-Z0-9_.-]+/)*[a-zA-Z0-9_-]+\\.(?:go|md|mod|sum|txt|sh|service|yaml|yml|json)|(?:server|shard|client|protocol|loadgen|bench|cmd|test|docs|deploy)(?:/[a-zA-Z0-9_-]+)+/?)`")

// elsewhere are file names in documents that are not in the tree: users' files, and files written by programs.
var elsewhere = regexp.MustCompile(`^(?:zkCli\.sh|bench/results.*|(?:.*/)?(?:main|host|replicas|peers|identity|anchor|level|access|report|backup|signalbox|cluster|state|config|results)\.(?:go|json|txt|yaml|md|service))$`)

// TestFilesThatDocumentsNameExist: every named file exists.
func TestFilesThatDocumentsNameExist(t *testing.T) {
	known := make(map[string]bool) // by path, and by name alone
	var documents []string
	err := filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if entry.IsDir() && (entry.Name() == ".git" || entry.Name() == "node_modules") {
			return fs.SkipDir
		}
		relative, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		relative = filepath.ToSlash(relative)
		known[relative], known[entry.Name()] = true, true
		if strings.HasSuffix(name, ".md") && !strings.Contains(relative, "testdata/") &&
			entry.Name() != "CHANGELOG.md" {
			documents = append(documents, relative)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for _, document := range documents {
		text, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(document)))
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			for _, match := range fileName.FindAllStringSubmatch(line, -1) {
				name := strings.TrimSuffix(match[1], "/")
				named++
				if elsewhere.MatchString(name) || known[name] || known[path.Join(path.Dir(document), name)] {
					continue
				}
				t.Errorf("%s:%d names %s, and there is no such file or folder", document, i+1, name)
			}
		}
	}
	if named == 0 {
		t.Error("no document names a file")
	}
}
