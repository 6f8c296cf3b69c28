package clienttest

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Bug is a mistake in the source of a package that its tests have to notice.
type Bug struct {
	Name string
	// File has the text Is once, in whose place Becomes stands where the bug is planted.
	File, Is, Becomes string
	// Noticed is by which test, or script of protocol/testdata/scripts.
	Noticed string
}

// AllBugs has tests plant all bugs that they know.
var AllBugs = flag.Bool("bugs.all", false, "plant all bugs, which takes minutes, and not only the first of each table")

// PlantBugs runs tests of the package in the working directory with one bug after the other, which only the compiler
// gets to see: nothing is written to the source. Without -bugs.all it does so with the first bug only.
func PlantBugs(t *testing.T, bugs []Bug) {
	t.Helper()
	for _, b := range ToPlant(t, bugs, 1) {
		t.Run(b.Name, func(t *testing.T) {
			run := exec.CommandContext(t.Context(), "go", "test", "-overlay", b.Overlay(t), "-vet=off", "-count=1",
				"-ldflags=-s -w", "-timeout=3m", "-run=^"+b.Noticed+"$", ".")
			out, err := run.CombinedOutput()
			switch said := string(out); {
			case err == nil:
				t.Errorf("%s does not notice it: %s", b.Noticed, said)
			case !strings.Contains(said, "--- FAIL: "+b.Noticed):
				t.Errorf("it is not planted: %v\n%s", err, said)
			}
		})
	}
}

// ToPlant are those of a table that a test plants: the first few, and with -bugs.all all of them.
func ToPlant(t *testing.T, bugs []Bug, first int) []Bug {
	t.Helper()
	if testing.Short() {
		t.Skip("it compiles the package for each bug")
	}
	if *AllBugs {
		return bugs
	}
	return bugs[:first]
}

// Overlay writes the file with the bug, and returns the file that has the compiler read it: the argument of -overlay.
func (b *Bug) Overlay(t *testing.T) string {
	t.Helper()
	source, err := filepath.Abs(b.File)
	Check(t, err)
	text, err := os.ReadFile(source)
	Check(t, err)
	if n := strings.Count(string(text), b.Is); n != 1 {
		t.Fatalf("%s has %d places for the bug", b.File, n)
	}
	dir := t.TempDir()
	planted, overlay := filepath.Join(dir, filepath.Base(b.File)), filepath.Join(dir, "overlay.json")
	Check(t, os.WriteFile(planted, []byte(strings.Replace(string(text), b.Is, b.Becomes, 1)), 0o600))
	list, err := json.Marshal(map[string]map[string]string{"Replace": {source: planted}})
	Check(t, err)
	Check(t, os.WriteFile(overlay, list, 0o600))
	return overlay
}
