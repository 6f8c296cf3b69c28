//go:build linux

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// A screen's escape sequences: switch to another page, switch back, and move to the top.
const (
	screenEnter = "\x1b[?1049h\x1b[?25l"
	screenLeave = "\x1b[?25h\x1b[?1049l"
	screenTop   = "\x1b[H"
)

func TestTopGivesTheTerminalBack(t *testing.T) {
	t.Parallel()
	p, _, _ := lockPlace(t)
	s, _ := newTool(t, p.Client).onTerminal("top", "--admin-endpoints", p.Admin, "--interval", "2s")
	s.awaitOutput("it has shown two looks", func() bool { return strings.Count(s.Output(), screenTop) >= 2 })
	s.endsBy(os.Interrupt, cli.ExitDone)
	if text := s.Output(); !strings.HasPrefix(text, screenEnter) || !strings.HasSuffix(text, screenLeave) ||
		strings.Count(text, screenEnter) != 1 {
		t.Errorf("%q", text)
	}
}

func TestTopEndsWithQ(t *testing.T) {
	t.Parallel()
	p, _, _ := lockPlace(t)
	s, keyboard := newTool(t, p.Client).onOwnTerminal("top", "--admin-endpoints", p.Admin, "--interval", "1s")
	s.awaitOutput("it has shown a look", func() bool { return strings.Contains(s.Output(), screenTop) })
	keyboard.WriteString("xq")
	s.endsWith(cli.ExitDone, "")
	if text := s.Output(); !strings.HasSuffix(text, screenLeave) || strings.Contains(text, "xq") {
		t.Errorf("%q", text)
	}
}

func TestAScreenShowsARolloutAsItChanges(t *testing.T) {
	x, node := rolloutTool(t, "--location", "sas")
	s, _ := x.onTerminal("rollout", "status", node, "dns", "--watch")
	s.says("no version yet")
	x.publish(node, "zones", "--label", "r1")
	s.says("version 1 (r1)")
	s.says("no instance has joined in sas")
	s.endsBy(os.Interrupt, cli.ExitDone)
	if text := s.Output(); !strings.HasPrefix(text, screenEnter) || !strings.HasSuffix(text, screenLeave) {
		t.Errorf("%q", text)
	}
}

// onOwnTerminal starts a command in a terminal's foreground, as a shell does.
func (t *tool) onOwnTerminal(args ...string) (s *task, keyboard *os.File) {
	t.t.Helper()
	c := t.command(args...)
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	return t.typedAt(c)
}

func TestWhatIsTypedGoesToTheCommandOfALock(t *testing.T) {
	p, _, _ := lockPlace(t)
	s, keyboard := newTool(t, p.Client).onOwnTerminal("lock", "/jobs", "x", "--", "sh", "-c",
		"echo in; read line; echo got $line; exec sleep 600")
	s.says("in")
	keyboard.WriteString("hello\n")
	s.says("got hello")
	// The terminal cannot stop the command, but can end it.
	keyboard.WriteString("\x1a")
	s.says("^Z")
	keyboard.WriteString("\x03")
	s.endsWith(128+int(syscall.SIGINT), "")
}
