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

// commandsOfGrowing returns the commands of the section of docs/operating.md about growing, with free ports and a
// folder in the place of those of the page.
func commandsOfGrowing(t *testing.T, folder string) []string {
	t.Helper()
	_, section, ok := strings.Cut(readPage(t, "docs/operating.md").text, "\n## Growing\n")
	if !ok {
		t.Fatal("the page has no such section")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	reserved, err := subprocess.ReservePorts(9)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Close)
	var places []string
	for i, port := range []string{"7420", "7421", "7422", "7430", "7431", "7432", "7440", "7441", "7442"} {
		places = append(places, "127.0.0.1:"+port, reserved.Addresses[i])
	}
	places = append(places, "--data-dir ", "--data-dir "+folder+string(filepath.Separator))
	var commands []string
	for _, f := range newPage("docs/operating.md", section).fences {
		commands = append(commands, f.commands()...)
	}
	for i, c := range commands {
		commands[i] = strings.NewReplacer(places...).Replace(c)
	}
	return commands
}

// TestAClusterGrowsAsTyped types the commands of the page. The host whose directory is lost is refused under its name
// before it takes its own place.
func TestAClusterGrowsAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program, and runs it")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	folder := t.TempDir()
	commands := commandsOfGrowing(t, folder)
	if len(commands) != 5 {
		t.Fatalf("the page has the commands %q", commands)
	}
	d := newDesk(t)
	d.environment = []string{"PATH=" + buildSignalbox(t) + ":" + os.Getenv("PATH")}
	d.open(commands[0]).awaitEnd("")
	first := d.open(commands[1])
	first.await("is ready")
	second := d.open(commands[2])
	for _, te := range []*terminal{second, d.open(commands[3])} {
		te.await("is ready")
	}
	for _, replica := range []string{"shard 0", "shard 1"} {
		first.await(replica + ": voter")
	}

	second.interrupt()
	second.awaitEnd("")
	if err := os.RemoveAll(filepath.Join(folder, "b")); err != nil {
		t.Fatal(err)
	}
	d.open(commands[2]).await("--replace b where that one is gone for good")
	d.open(commands[4]).await("is ready")
}
