package tidy

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

var compiled = flag.Bool("compiled", false, "compile the tree with each sample change: minutes if busy")

// samples are typical first changes by a newcomer, each with the maximum number of product files to touch. The patches
// in testdata/patches are complete product changes, without tests and pages. If a patch no longer applies because
// nearby code changed, recreate it: only the number of files counts. A hunk has one context line, chosen to change
// rarely, so that most tree changes leave the patches alone.
var samples = map[string]int{
	"session.diff":   10, // session text, from both clients to listings
	"semaphore.diff": 10, // semaphore text, from client to snapshot
	"field.diff":     6,  // rollout text, from command line to console
	"read.diff":      7,  // read operation, from protocol to HTTP and tool
	"act.diff":       6,  // an act on a rollout
}

// patched is a file in a patch.
type patched struct {
	name  string // from the tree's root
	hunks []hunk
}

// hunk is one change in a patch: lines to replace, from about a given line.
type hunk struct {
	line    int
	old, by []string
}

var hunkHead = regexp.MustCompile(`^@@ -(\d+)[, ]`)

// readPatch reads a patch that changes existing files only.
func readPatch(t *testing.T, text string) (files []patched) {
	t.Helper()
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		head := hunkHead.FindStringSubmatch(line)
		if name, ok := strings.CutPrefix(line, "+++ b/"); ok {
			files = append(files, patched{name: name})
			continue
		}
		if strings.HasPrefix(line, "diff ") || strings.HasPrefix(line, "index ") || strings.HasPrefix(line, "--- a/") {
			continue
		}
		f := &files[len(files)-1]
		if head != nil {
			at, _ := strconv.Atoi(head[1])
			f.hunks = append(f.hunks, hunk{line: at - 1})
			continue
		}
		h := &f.hunks[len(f.hunks)-1]
		if line[0] != '+' {
			h.old = append(h.old, line[1:])
		}
		if line[0] != '-' {
			h.by = append(h.by, line[1:])
		}
	}
	return files
}

// apply returns the patched file. A hunk applies at the position nearest to its line.
func (p *patched) apply(text string) (string, error) {
	lines := strings.Split(text, "\n")
	moved := 0
	for _, h := range p.hunks {
		best := -1
		for at := range lines {
			end := at + len(h.old)
			if end > len(lines) || !slices.Equal(lines[at:end], h.old) {
				continue
			}
			if wanted := h.line + moved; best < 0 || max(at-wanted, wanted-at) < max(best-wanted, wanted-best) {
				best = at
			}
		}
		if best < 0 {
			return "", fmt.Errorf("%s has not the lines %q any more", p.name, h.old)
		}
		lines = slices.Replace(lines, best, best+len(h.old), h.by...)
		moved = best - h.line + len(h.by) - len(h.old)
	}
	return strings.Join(lines, "\n"), nil
}

// TestAChangeTouchesFewFiles: a fact is declared once, so sample changes stay within their file counts. With -compiled,
// as in make check, they must compile too.
func TestAChangeTouchesFewFiles(t *testing.T) {
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	for name, most := range samples {
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(filepath.Join("testdata", "patches", name))
			if err != nil {
				t.Fatal(err)
			}
			files, scratch := readPatch(t, string(text)), t.TempDir()
			if len(files) == 0 || len(files) > most {
				t.Errorf("it touches %d files; %d are allowed", len(files), most)
			}
			replaced, packages := make(map[string]string), []string(nil)
			changed := make(map[string]string)
			for i, f := range files {
				at := filepath.Join(root, filepath.FromSlash(f.name))
				before, err := os.ReadFile(at)
				if err != nil {
					t.Fatal(err)
				}
				after, err := f.apply(string(before))
				if err != nil {
					t.Error(err)
				}
				replaced[at] = filepath.Join(scratch, strconv.Itoa(i)+path.Ext(f.name))
				if err := os.WriteFile(replaced[at], []byte(after), 0o600); err != nil {
					t.Fatal(err)
				}
				changed[f.name] = after
				if path.Ext(f.name) == ".go" {
					packages = append(packages, "./"+path.Dir(f.name))
				}
			}
			if t.Failed() || !*compiled {
				return
			}
			if table, is := changed[messagesTable]; is {
				for name, text := range map[string][]byte{
					messagesFile: messagesOf(t, table), fieldsFile: fieldsOf(t, table, changed),
				} {
					at := filepath.Join(root, filepath.FromSlash(name))
					replaced[at] = filepath.Join(scratch, path.Base(name))
					if err := os.WriteFile(replaced[at], text, 0o600); err != nil {
						t.Fatal(err)
					}
				}
			}
			overlay, err := json.Marshal(map[string]any{"Replace": replaced})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(scratch, "overlay.json"), overlay, 0o600); err != nil {
				t.Fatal(err)
			}
			slices.Sort(packages)
			build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-overlay",
				filepath.Join(scratch, "overlay.json")}, slices.Compact(packages)...)...)
			build.Dir = root
			if said, err := build.CombinedOutput(); err != nil {
				t.Errorf("it does not compile: %v\n%s", err, said)
			}
		})
	}
}
