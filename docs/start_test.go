//go:build unix

package docs_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/signalbox/signalbox/internal/subprocess"
)

// patience is the maximum time for the README's commands, including the build.
const patience = 5 * time.Minute

// TestTheStartInTheREADMEWorksAsTyped types the commands from the README's start section into terminals verbatim, and
// compares the output with the README. Environment variables give the host free ports and a test data folder; the
// comparison replaces them with the defaults.
func TestTheStartInTheREADMEWorksAsTyped(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program and runs it")
	}
	if _, err := exec.LookPath("bash"); err != nil {
		t.Skip("there is no bash")
	}
	commands, prints := startOfREADME(t)
	serve, lock, watch, register := commands[0], commands[1], commands[2], commands[3]
	ready, first, second, seen := prints[0], prints[1], prints[2], prints[3]
	d := newDesk(t)
	wake := d.holdSleeps()

	host := d.open(serve)
	host.await(ready)

	one := d.open(lock)
	one.await(first)
	two := d.open(lock)
	two.await(strings.SplitAfter(second, "\n")[0])
	wake()
	one.awaitEnd(first)
	two.awaitEnd(second)

	watching := d.open(watch)
	lines := strings.SplitAfter(seen, "\n")
	watching.await(lines[0])
	there := d.open(register)
	watching.await(lines[1])
	there.interrupt()
	watching.await(lines[2])
	watching.interrupt()
	watching.awaitEnd(seen)

	host.interrupt()
	host.await("the host has stopped")
	host.awaitEnd("")
}

// startOfREADME returns the commands in the README's start section, and their documented output.
func startOfREADME(t *testing.T) (commands, prints []string) {
	t.Helper()
	readme := readPage(t, "README.md")
	_, start, ok := strings.Cut(readme.text, "\n## Start\n")
	if !ok {
		t.Fatal("the README has no start")
	}
	start, _, _ = strings.Cut(start, "\n## ")
	for _, f := range newPage("README.md", start).fences {
		switch f.language {
		case "sh":
			commands = append(commands, f.text)
		case "text":
			prints = append(prints, f.text)
		}
	}
	if len(commands) != 4 || len(prints) != 4 || strings.Count(prints[3], "\n") != 3 {
		t.Fatalf("the README's start has other blocks than this test knows: %q, %q", commands, prints)
	}
	return commands, prints
}

// desk is the workplace of a reader who follows the README.
type desk struct {
	t           *testing.T
	environment []string
	normal      *strings.Replacer // from printed text to the page's text
	actual      *strings.Replacer // from the page's text to typed text
}

// newDesk finds free ports and a folder for a host.
func newDesk(t *testing.T) *desk {
	t.Helper()
	folder := t.TempDir()
	data := filepath.Join(folder, "data")
	reserved, err := subprocess.ReservePorts(3)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(reserved.Close)
	ports := reserved.Addresses
	others := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "SIGNALBOX_") })
	return &desk{
		t: t,
		environment: append(others, "SIGNALBOX_DATA_DIR="+data, "SIGNALBOX_LISTEN="+ports[0],
			"SIGNALBOX_ADMIN_LISTEN="+ports[1], "SIGNALBOX_HTTP_LISTEN="+ports[2], "SIGNALBOX_ENDPOINTS="+ports[0],
			"SIGNALBOX_CONTEXT_FILE="+filepath.Join(folder, "contexts.yaml")),
		normal: strings.NewReplacer(data, "signalbox-data", ports[0], "127.0.0.1:7420", ports[1], "127.0.0.1:7422",
			ports[2], "127.0.0.1:7424"),
		actual: strings.NewReplacer("127.0.0.1:7424", ports[2]),
	}
}

// holdSleeps makes sleep, as called by the desk's commands, block until wake is called. So even on a slow machine the
// next command is typed in time.
func (d *desk) holdSleeps() (wake func()) {
	d.t.Helper()
	folder := d.t.TempDir()
	over := filepath.Join(folder, "over")
	sleep, err := exec.LookPath("sleep")
	if err != nil {
		d.t.Fatal(err)
	}
	script := "#!/bin/sh\nuntil [ -e " + over + " ]; do " + sleep + " 0.05; done\n"
	if err := os.WriteFile(filepath.Join(folder, "sleep"), []byte(script), 0o700); err != nil {
		d.t.Fatal(err)
	}
	d.environment = append(d.environment, "PATH="+folder+":"+os.Getenv("PATH"))
	return func() {
		d.t.Helper()
		if err := os.WriteFile(over, nil, 0o600); err != nil {
			d.t.Fatal(err)
		}
	}
}

// terminal is a running command with its output so far.
type terminal struct {
	*desk
	command     *exec.Cmd
	over        chan struct{} // closed when the command has ended
	interrupted bool          // go run says 1 then, whatever the program says

	mu      sync.Mutex
	text    strings.Builder
	changed chan struct{} // closed when there is more text
}

// open types commands into a new terminal, at the top of the tree.
func (d *desk) open(typed string) *terminal {
	d.t.Helper()
	te := &terminal{desk: d, command: exec.Command("bash", "-c", typed), over: make(chan struct{}),
		changed: make(chan struct{})}
	te.command.Dir, te.command.Env = root, d.environment
	te.command.Stdout, te.command.Stderr = te, te
	te.command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // as a shell does: Ctrl-C reaches all processes
	if err := te.command.Start(); err != nil {
		d.t.Fatal(err)
	}
	go func() {
		_ = te.command.Wait()
		close(te.over)
	}()
	d.t.Cleanup(func() {
		_ = syscall.Kill(-te.command.Process.Pid, syscall.SIGKILL)
		<-te.over
	})
	return te
}

// Write receives the command's output.
func (te *terminal) Write(b []byte) (int, error) {
	te.mu.Lock()
	defer te.mu.Unlock()
	te.text.Write(b)
	close(te.changed)
	te.changed = make(chan struct{})
	return len(b), nil
}

// printed returns the output so far, and a channel that is closed on more output.
func (te *terminal) printed() (text string, more <-chan struct{}) {
	te.mu.Lock()
	defer te.mu.Unlock()
	return te.normal.Replace(te.text.String()), te.changed
}

// await waits until something has been printed.
func (te *terminal) await(want string) {
	te.t.Helper()
	late := time.After(patience)
	for {
		text, more := te.printed()
		if strings.Contains(text, want) {
			return
		}
		select {
		case <-more:
		case <-te.over:
			if text, _ = te.printed(); !strings.Contains(text, want) {
				te.t.Fatalf("%s ended and printed\n%s\nand not\n%s", te.command.Args[2], text, want)
			}
		case <-late:
			te.t.Fatalf("%s has printed\n%s\nand not\n%s", te.command.Args[2], text, want)
		}
	}
}

// awaitEnd waits until the command has succeeded with exactly the wanted output, or any output if want is empty.
func (te *terminal) awaitEnd(want string) {
	te.t.Helper()
	select {
	case <-te.over:
	case <-time.After(patience):
		te.t.Fatalf("%s does not end", te.command.Args[2])
	}
	text, _ := te.printed()
	if code := te.command.ProcessState.ExitCode(); code != 0 && !te.interrupted || want != "" && text != want {
		te.t.Errorf("%s ended with code %d and printed\n%s\nwant\n%s", te.command.Args[2], code, text, want)
	}
}

// interrupt is Ctrl-C.
func (te *terminal) interrupt() {
	te.t.Helper()
	te.interrupted = true
	if err := syscall.Kill(-te.command.Process.Pid, syscall.SIGINT); err != nil {
		te.t.Fatal(err)
	}
}
