//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestThePageOfHTTPWorksAsTyped types the curl lock example in docs/http.md, and has two copies of its Python program
// elect a leader.
func TestThePageOfHTTPWorksAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and runs it")
	}
	d := newDesk(t)
	d.open("go run ./cmd/signalbox serve").await("The console is at http://127.0.0.1:7424")
	for _, tool := range []string{"bash", "curl", "grep", "cut"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skipf("there is no %s", tool)
		}
	}
	var typed, answers strings.Builder
	var python string
	for _, f := range readPage(t, "docs/http.md").fences {
		switch {
		case f.language == "sh" && !strings.Contains(f.text, "/v1/events"):
			typed.WriteString(f.text + "\n")
		case f.language == "text" && answers.Len() == 0:
			answers.WriteString(f.text)
		case f.language == "python":
			python = f.text
		}
	}
	lock := d.open("set -e\n" + d.actual.Replace(typed.String()))
	lock.awaitEnd("")
	if text, _ := lock.printed(); !strings.HasSuffix(text, answers.String()) {
		t.Errorf("the commands printed\n%s\nand the page says\n%s", text, answers.String())
	}
	d.elect(python)
}

// elect has two programs contend. The second leads when the first is interrupted. Their sessions last for longer than
// any machine stands still.
func (d *desk) elect(python string) {
	d.t.Helper()
	if _, err := exec.LookPath("python3"); err != nil {
		d.t.Skip("there is no python3")
	}
	program := filepath.Join(d.t.TempDir(), "leader.py")
	python = strings.Replace(d.actual.Replace(python), "30.0", "1800.0", 1)
	if err := os.WriteFile(program, []byte(python), 0o600); err != nil {
		d.t.Fatal(err)
	}
	one := d.open("exec python3 " + program + " one")
	one.await("one leads with fence ")
	two := d.open("exec python3 " + program + " two")
	one.interrupt()
	two.await("two leads with fence ")
	two.interrupt()
	for _, te := range []*terminal{one, two} {
		te.awaitEnd("")
	}
}
