package tidy

import (
	"io"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"
)

const (
	// widest is how many columns a line may have, a tab counting for tabColumns.
	widest     = 120
	tabColumns = 4
	// smallest is the minimum number of lines in a file. Smaller files belong to a neighbour.
	smallest = 40
	// largest is from how many lines on a file has to be two.
	largest = 500
)

// TestLinesAreNotTooWide: code and its comments must fit side by side. Lines with a raw string may be wider: tests
// compare them with output.
func TestLinesAreNotTooWide(t *testing.T) {
	for _, s := range sources(t) {
		for i, line := range strings.Split(s.text, "\n") {
			columns := utf8.RuneCountInString(line) + (tabColumns-1)*strings.Count(line, "\t")
			if columns > widest && !strings.Contains(line, "`") && !strings.Contains(line, "//go:") {
				t.Errorf("%s:%d: the line has %d columns; %d are allowed", s.path, i+1, columns, widest)
			}
		}
	}
}

var constraint = regexp.MustCompile(`(?m)^//go:build `)

// TestFilesAreNeitherTinyNorHuge: a file is a noun that a reader looks for.
func TestFilesAreNeitherTinyNorHuge(t *testing.T) {
	inFolder := make(map[string]int)
	all := sources(t)
	for _, s := range all {
		if !s.test() {
			inFolder[s.folder()]++
		}
	}
	for _, s := range all {
		lines := strings.Count(s.text, "\n")
		name := path.Base(s.path)
		platform := constraint.MatchString(s.text) || strings.HasSuffix(name, "_linux.go")
		alone := inFolder[s.folder()] == 1
		if lines < smallest && !s.test() && !platform && !alone && name != "doc.go" && name != "main.go" {
			t.Errorf("%s has %d lines: it belongs to a neighbour", s.path, lines)
		}
		generated := strings.HasPrefix(s.text, "// Code generated ")
		if lines > largest && !s.test() && !generated {
			t.Errorf("%s has %d lines: it asks to be two", s.path, lines)
		}
	}
}

// largeRooms are the rooms whose files are too many to look through, and that cannot be parted without cost.
var largeRooms = []string{"shard", "shard/machine"}

var namedFile = regexp.MustCompile(`\b[a-z0-9_]+\.go\b`)

// TestALargeRoomSaysWhereEachFileBelongs: its doc.go names every file, and none that is gone.
func TestALargeRoomSaysWhereEachFileBelongs(t *testing.T) {
	all := sources(t)
	for _, folder := range largeRooms {
		files, named := make(map[string]bool), make(map[string]bool)
		for _, s := range all {
			switch name := path.Base(s.path); {
			case s.folder() != folder || s.test():
			case name == "doc.go":
				for _, name := range namedFile.FindAllString(s.file.Doc.Text(), -1) {
					named[name] = true
				}
			default:
				files[name] = true
			}
		}
		for name := range files {
			if !named[name] {
				t.Errorf("%s/doc.go does not say where %s belongs", folder, name)
			}
		}
		for name := range named {
			if !files[name] {
				t.Errorf("%s/doc.go names %s, and there is no such file", folder, name)
			}
		}
	}
}

// TestTheTreeHasNoPrograms: a program built in its folder is easily committed, and stays in the history.
func TestTheTreeHasNoPrograms(t *testing.T) {
	out, err := exec.Command("git", "-C", root, "ls-files", "-z").Output()
	if err != nil {
		t.Skip("git does not list the files: ", err) // an archive of the source
	}
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		file, err := os.Open(filepath.Join(root, name))
		if err != nil {
			continue // removed, and not committed
		}
		var magic [4]byte
		if n, _ := io.ReadFull(file, magic[:]); n == len(magic) && string(magic[:]) == "\x7fELF" {
			t.Errorf("%s is a program", name)
		}
		file.Close()
	}
}
