//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// commandsOf returns the commands of a page, with some texts replaced.
func commandsOf(t *testing.T, path string, replaced ...string) (commands []string) {
	t.Helper()
	for _, f := range readPage(t, path).fences {
		for _, c := range f.commands() {
			commands = append(commands, strings.NewReplacer(replaced...).Replace(c))
		}
	}
	return commands
}

// TestAClusterIsRestoredAsTyped types the page's commands, after the first host is started as in the section about
// adding hosts. The saved value is restored, and a host from the old cluster is refused.
func TestAClusterIsRestoredAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and runs it")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	folder := t.TempDir() + string(filepath.Separator)
	reserved, err := subprocess.ReservePorts(2)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Close)
	client := reserved.Addresses[0]
	commands := commandsOf(t, "docs/guides/backup-restore.md",
		"127.0.0.1:7420", client, "127.0.0.1:7422", reserved.Addresses[1],
		"--data-dir ", "--data-dir "+folder, "signalbox.backup", folder+"signalbox.backup")
	if len(commands) != 4 {
		t.Fatalf("the page has the commands %q", commands)
	}
	d := newDesk(t)
	d.environment = []string{"PATH=" + buildSignalbox(t) + ":" + os.Getenv("PATH"), "SIGNALBOX_ENDPOINTS=" + client}
	before := d.open(strings.Replace(commands[3], "restored", "before", 1))
	before.await("is ready")
	d.open("signalbox node create /prod").awaitEnd("")
	d.open("signalbox semaphore create /prod flags --limit 1 --data saved").awaitEnd("")
	d.run(commands[0], "data shards of cluster")
	d.run(commands[1], "is valid")
	before.interrupt()
	before.awaitEnd("")
	d.run(commands[2], "generation 1")
	d.open(commands[3]).await("is ready")
	d.run("signalbox semaphore describe /prod flags", "saved")
}

// run runs a command that must succeed, and whose output must contain the given text.
func (d *desk) run(command, printed string) {
	d.t.Helper()
	te := d.open(command)
	te.await(printed)
	te.awaitEnd("")
}
