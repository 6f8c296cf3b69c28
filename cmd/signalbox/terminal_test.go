//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// openTerminal creates a terminal: data written to one side is typed at, or displayed on, the other side.
func openTerminal(t *testing.T) (keyboard, screen *os.File) {
	t.Helper()
	keyboard, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	t.Cleanup(func() { _ = keyboard.Close() })
	if err := unix.IoctlSetPointerInt(int(keyboard.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	number, err := unix.IoctlGetInt(int(keyboard.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	screen, err = os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Skip("there are no terminals here:", err)
	}
	return keyboard, screen
}

// onTerminal starts a command on a terminal. The output is the displayed text.
func (t *tool) onTerminal(args ...string) (s *task, keyboard *os.File) {
	t.t.Helper()
	return t.typedAt(t.command(args...))
}

// typedAt gives a command a terminal, and starts the command.
func (t *tool) typedAt(c *exec.Cmd) (s *task, keyboard *os.File) {
	t.t.Helper()
	keyboard, screen := openTerminal(t.t)
	c.Stdin, c.Stdout, c.Stderr = screen, screen, screen
	s = launch(t.t, c, keyboard)
	_ = screen.Close() // the process has a descriptor of its own
	return s, keyboard
}

func TestWhatCannotBeUndoneIsAskedOnATerminal(t *testing.T) {
	x, node := sharedTool(t)
	x.ok("semaphore", "create", node, "lock")
	for _, c := range []struct {
		typed string
		code  int
	}{{"\n", cli.ExitFailed}, {"n\n", cli.ExitFailed}, {"\x04", cli.ExitFailed}, {"\x03", -1}, {"y\n", cli.ExitDone}} {
		s, keyboard := x.onTerminal("node", "drop", node)
		want := "This drops node " + node + " with 1 semaphore, 0 rollouts, 0 processes and 0 sessions. " +
			"Continue? [y/N] "
		s.says(want)
		if c.code < 0 {
			s.signal(os.Interrupt)
		} else if _, err := keyboard.WriteString(c.typed); err != nil {
			t.Fatal(err)
		}
		if code := s.wait(patience); code != c.code {
			t.Errorf("%q: code %d, want %d: %s", c.typed, code, c.code, s.Output())
		}
		there := x.run("node", "describe", node).code == 0
		if there != (c.code != cli.ExitDone) {
			t.Errorf("%q: the node is there: %v", c.typed, there)
		}
	}
}

// TestAtATerminalARestoreAsksWhatBecomesOfTheRights: nothing is done without an answer.
func TestAtATerminalARestoreAsksWhatBecomesOfTheRights(t *testing.T) {
	p := newPlace(t)
	p.serve(t).awaitReady()
	x := newTool(t, p.Client).close()
	dir := t.TempDir()
	file := filepath.Join(dir, "a.backup")
	x.ok("backup", "save", file)
	for _, c := range []struct {
		typed string
		code  int
	}{{"\n", cli.ExitFailed}, {"yes\n", cli.ExitFailed}, {"keep\n", cli.ExitDone}, {"Drop\n", cli.ExitDone}} {
		made := filepath.Join(dir, strings.TrimSpace("data"+c.typed))
		s, keyboard := x.onTerminal("backup", "restore", file, "--data-dir", made)
		s.says("Keep or drop these grants? [keep/drop/N] ")
		if _, err := keyboard.WriteString(c.typed); err != nil {
			t.Fatal(err)
		}
		if code := s.wait(patience); code != c.code {
			t.Errorf("%q: code %d, want %d: %s", c.typed, code, c.code, s.Output())
		}
		if _, err := os.Stat(made); (err == nil) != (c.code == cli.ExitDone) {
			t.Errorf("%q: %v", c.typed, err)
		}
	}
}

func TestColoursAreForTerminals(t *testing.T) {
	x, node := sharedTool(t)
	for _, c := range []struct {
		env  []string
		want bool
	}{{nil, true}, {[]string{"NO_COLOR=1"}, false}, {[]string{"TERM=dumb"}, false}} {
		s, _ := x.with(c.env...).onTerminal("semaphore", "list", node)
		s.wait(patience)
		if text := s.Output(); !strings.Contains(text, "WAITERS") || strings.Contains(text, "\x1b[") != c.want {
			t.Errorf("%v: colours are wanted: %v: %q", c.env, c.want, text)
		}
	}
	if text := x.ok("semaphore", "list", node); strings.Contains(text, "\x1b") {
		t.Errorf("in a pipe: %q", text)
	}
}

func TestAPieceOfConfigGivesNoOrdersToATerminal(t *testing.T) {
	x, node := sharedTool(t)
	x.ok("config", "put", node, "evil", "a: 1\n\tb\x1b[2J\u009b2J\u202ec")
	s, _ := x.onTerminal("config", "get", node, "evil")
	s.wait(patience)
	if text := s.Output(); text != "a: 1\r\n\tb\\x1b[2J\\u009b2J\\u202ec\r\n" &&
		text != "a: 1\r\n        b\\x1b[2J\\u009b2J\\u202ec\r\n" {
		t.Errorf("on a terminal: %q", text)
	}
	if text := x.ok("config", "get", node, "evil"); text != "a: 1\n\tb\x1b[2J\u009b2J\u202ec" {
		t.Errorf("in a pipe: %q", text)
	}
}
