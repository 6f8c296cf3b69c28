package cli

import "golang.org/x/sys/unix"

// getModes and setModes are the calls that read and change the modes of a terminal.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
)
