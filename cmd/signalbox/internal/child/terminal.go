//go:build unix

package child

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// terminal is one of which this process has the foreground, and lends it to a command.
type terminal struct{ fd, group int }

// foreground returns the terminal behind a file, nil where there is none or it is in the hands of others.
func foreground(file *os.File) *terminal {
	fd, own := int(file.Fd()), syscall.Getpgrp()
	group, err := unix.IoctlGetInt(fd, unix.TIOCGPGRP)
	if err != nil || group != own {
		return nil
	}
	return &terminal{fd, own}
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
