package docs_test

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/test/conformance"
)

// TestTheGoDriverConformsAsThePageSays types the commands in docs/conformance.md.
func TestTheGoDriverConformsAsThePageSays(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds signalbox and plays all scripts")
	}
	folder := buildSignalbox(t)
	page := readPage(t, "docs/conformance.md")
	typed := 0
	for _, f := range page.fences {
		if f.language != "sh" {
			continue
		}
		typed++
		text := strings.ReplaceAll(f.text, "./driver", filepath.Join(folder, "driver"))
		text = strings.ReplaceAll(text, "-o driver", "-o "+filepath.Join(folder, "driver"))
		shell := exec.Command("sh", "-ec", text)
		shell.Dir, shell.Env = root, append(os.Environ(), "PATH="+folder+":"+os.Getenv("PATH"))
		out, err := shell.CombinedOutput()
		if err != nil || strings.Count(string(out), "the client conforms") != 2 {
			t.Errorf("%v\n%s", err, out)
		}
	}
	if typed != 1 {
		t.Errorf("%d blocks were typed", typed)
	}
}

// TestThePageOfConformanceListsWhatStepsHave: the table has every step field, and the scripts name headings in
// docs/protocol.md.
func TestThePageOfConformanceListsWhatStepsHave(t *testing.T) {
	text := readPage(t, "docs/conformance.md").text
	for _, name := range conformance.StepFields() {
		if !strings.Contains(text, "`"+name+"`") {
			t.Errorf("the page does not say what %s is", name)
		}
	}
	scripts, err := conformance.Load(protocol.Scripts())
	if err != nil {
		t.Fatal(err)
	}
	headings := anchors(readPage(t, "docs/protocol.md"))
	for _, s := range scripts {
		if !headings[s.See] {
			t.Errorf("%s: docs/protocol.md has no heading %s", s.Name, s.See)
		}
	}
}

// TestLinesOfTheDriverAreJSON: drivers can parse the page's examples.
func TestLinesOfTheDriverAreJSON(t *testing.T) {
	read := 0
	for _, f := range readPage(t, "docs/conformance.md").fences {
		if f.language != "text" {
			continue
		}
		for line := range strings.Lines(f.text) {
			read++
			if !json.Valid([]byte(line)) {
				t.Errorf("%s is no JSON", line)
			}
		}
	}
	if read < 10 {
		t.Errorf("%d lines were read", read)
	}
}
