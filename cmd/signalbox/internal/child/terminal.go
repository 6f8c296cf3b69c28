//go:build unix

package child

import (
	"os"
	"os/exec"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is one of which this process has the foreground, and lends it to a command.
type terminal struct{ fd, group int }

// foreground returns the terminal that a command is used on, nil where there is none or it is in the hands of
// others. In a pipeline it is left to those who show what comes out.
func foreground(cmd *exec.Cmd) *terminal {
	stdin, in := cmd.Stdin.(*os.File)
	stdout, out := cmd.Stdout.(*os.File)
	own := syscall.Getpgrp()
	if !in || !out || groupOf(stdin) != own || groupOf(stdout) != own {
		return nil
	}
	return &terminal{int(stdin.Fd()), own}
}

// groupOf is the group that has the foreground of the terminal behind a file, 0 where it is none of this process.
func groupOf(file *os.File) int {
	group, err := unix.IoctlGetInt(int(file.Fd()), unix.TIOCGPGRP)
	if err != nil {
		return 0
	}
	return group
}

// takeBack makes this process's group the foreground again. A process in the background is stopped for that,
// unless it ignores the signal.
func (t *terminal) takeBack() {
	if t == nil {
		return
	}
	signal.Ignore(syscall.SIGTTOU)
	defer signal.Reset(syscall.SIGTTOU)
	_ = unix.IoctlSetPointerInt(t.fd, unix.TIOCSPGRP, t.group)
}
