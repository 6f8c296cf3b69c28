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

// Bug is a bug in a package's source that its tests must detect.
type Bug struct {
	Name string
	// File contains the text Is once; planting the bug replaces it by Becomes.
	File, Is, Becomes string
	// Noticed is the detecting test, or script in protocol/testdata/scripts.
	Noticed string
}

// AllBugs makes tests plant all known bugs.
var AllBugs = flag.Bool("bugs.all", false, "plant all bugs, which takes minutes, and not only the first of each table")

// PlantBugs runs tests in the working directory's package with one bug at a time, visible to the compiler only: no
// source file is changed. Without -bugs.all it plants only the first bug.
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

// ToPlant returns the bugs to plant from a table: the first few, or all with -bugs.all.
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

// Overlay writes the file with the bug, and returns the argument for the compiler flag -overlay.
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
