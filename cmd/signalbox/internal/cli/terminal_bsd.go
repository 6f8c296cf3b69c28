//go:build darwin || freebsd || netbsd || openbsd

package cli

import "golang.org/x/sys/unix"

// getModes and setModes are the system calls that read and change terminal modes.
const (
	getModes = unix.TIOCGETA
	setModes = unix.TIOCSETA
)
