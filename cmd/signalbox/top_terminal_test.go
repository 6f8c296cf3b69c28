//go:build linux

package main

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

func TestTopGivesTheTerminalBack(t *testing.T) {
	p, _, _ := lockPlace(t)
	s, _, shown := newTool(t, p).onTerminal("top", "--admin", p.admin, "--interval", "200ms")
	s.await("it has shown two looks", func() bool { return strings.Count(s.out.String(), screenTop) >= 2 })
	s.endsBy(os.Interrupt, cli.ExitDone)
	<-shown
	if text := s.out.String(); !strings.HasPrefix(text, screenEnter) || !strings.HasSuffix(text, screenLeave) || strings.Count(text, screenEnter) != 1 {
		t.Errorf("%q", text)
	}
}

// onOwnTerminal starts a command as a shell with a terminal does: in the foreground of it.
func (x *tool) onOwnTerminal(args ...string) (s *process, keyboard *os.File) {
	x.t.Helper()
	keyboard, screen := openTerminal(x.t)
	c := x.command(args...)
	c.Stdin, c.Stdout = screen, screen
	c.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s = launchOn(x.t, c, screen)
	_ = screen.Close() // the process has its own
	go func() {
		buf := make([]byte, 1024)
		for {
			n, err := keyboard.Read(buf)
			_, _ = s.out.Write(buf[:n])
			if err != nil {
				return // the process has closed the other side
			}
		}
	}()
	return s, keyboard
}

func TestWhatIsTypedGoesToTheCommandOfALock(t *testing.T) {
	p, _, _ := lockPlace(t)
	s, keyboard := newTool(t, p).onOwnTerminal("lock", "/jobs", "x", "--", "sh", "-c", "echo in; read line; echo got $line; exec sleep 600")
	s.says("in")
	keyboard.WriteString("hello\n")
	s.says("got hello")
	// It cannot be stopped from the terminal, and ends by it.
	keyboard.WriteString("\x1a")
	s.says("^Z")
	keyboard.WriteString("\x03")
	s.endsWith(128+int(syscall.SIGINT), "")
}
