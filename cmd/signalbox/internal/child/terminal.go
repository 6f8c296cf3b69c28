//go:build unix

package child

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is signalbox's controlling terminal, whatever the standard streams are. One process group at a time has
// the foreground, and receives the keys.
type terminal struct {
	fd  int // negative without a terminal
	own int // signalbox's group
}

func openTerminal() *terminal {
	fd, err := unix.Open("/dev/tty", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		fd = -1
	}
	return &terminal{fd, syscall.Getpgrp()}
}

func (t *terminal) close() {
	if t.fd >= 0 {
		_ = unix.Close(t.fd)
	}
}

// foreground returns the group with the foreground, 0 without a terminal.
func (t *terminal) foreground() int {
	if t.fd < 0 {
		return 0
	}
	group, err := unix.IoctlGetInt(t.fd, unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// move gives the foreground to a group if another group has it. Moving stops a background process unless it ignores
// the signal, so the caller must handle job control signals again after the move.
func (t *terminal) move(from, to int) (moved bool) {
	if t.foreground() != from {
		return false
	}
	signal.Ignore(syscall.SIGTTOU)
	return unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, to) == nil
}

// isFor reports whether a command gets the foreground when it starts: signalbox has the foreground, and the command
// reads from the terminal. In a pipeline, the programs that show the output keep the foreground until the command
// asks for it.
func (t *terminal) isFor(cmd *exec.Cmd) bool {
	stdin, ok := cmd.Stdin.(*os.File)
	if !ok || t.foreground() != t.own {
		return false
	}
	if group, err := unix.IoctlGetInt(int(stdin.Fd()), unix.TIOCGPGRP); err != nil || group != t.own {
		return false
	}
	stdout, ok := cmd.Stdout.(*os.File)
	if !ok {
		return false
	}
	info, err := stdout.Stat()
	return err == nil && info.Mode()&(os.ModeNamedPipe|os.ModeSocket) == 0
}
