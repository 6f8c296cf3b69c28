package docs_test

import (
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// word matches a name in the package list.
var word = regexp.MustCompile(`[a-z][a-z0-9]*`)

// TestPackageListNamesAllPackages compares the package list in docs/architecture.md with the folders in the tree. Each
// line in the list begins with a folder. Each folder with Go files has a line, or a word in its parent folder's line.
func TestPackageListNamesAllPackages(t *testing.T) {
	plan := make(map[string]string) // folder to the rest of its line
	last := ""
	_, section, _ := strings.Cut(readPage(t, "docs/architecture.md").text, "\n## Packages\n")
	_, section, _ = strings.Cut(section, "```\n")
	section, _, _ = strings.Cut(section, "```")
	for line := range strings.Lines(section) {
		folder, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		if strings.HasPrefix(line, "      ") { // a continuation line
			plan[last] += " " + strings.TrimSpace(line)
			continue
		}
		if info, err := os.Stat(filepath.Join(root, filepath.FromSlash(folder))); err != nil || !info.IsDir() {
			t.Errorf("the plan names %s, and there is no such folder", folder)
		}
		plan[folder], last = rest, folder
	}
	rooms := make(map[string]bool)
	walk(t, ".go", func(file string, _ []byte) { rooms[path.Dir(file)] = true })
	for room := range rooms {
		if _, ok := plan[room]; ok || belongsTo(plan, room) {
			continue
		}
		t.Errorf("the plan does not name %s", room)
	}
	if len(plan) < 20 {
		t.Errorf("the plan has only %d lines", len(plan))
	}
}

// belongsTo reports whether a parent folder's line names the package, or the package is internal to the parent folder.
func belongsTo(plan map[string]string, room string) bool {
	for above, name := path.Dir(room), path.Base(room); above != "."; above, name = path.Dir(above), path.Base(above) {
		rest, ok := plan[above]
		if !ok {
			continue
		}
		for _, w := range word.FindAllString(rest, -1) {
			if w == name {
				return true
			}
		}
		if name == "internal" {
			return true
		}
	}
	return false
}
