//go:build linux || darwin || freebsd || netbsd || openbsd

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// terminalSize returns the size of a stream's terminal. ok is false without a terminal.
func terminalSize(stream any) (columns, rows int, ok bool) {
	file, ok := stream.(*os.File)
	if !ok {
		return 0, 0, false
	}
	size, err := unix.IoctlGetWinsize(int(file.Fd()), unix.TIOCGWINSZ)
	if err != nil {
		return 0, 0, false
	}
	return int(size.Col), int(size.Row), true
}

// typeUnseen makes a terminal deliver every key immediately without showing it, and returns a function that restores
// the terminal. The function is nil if the stream is not a terminal, or the terminal belongs to another job, because
// this job would be stopped.
func typeUnseen(stream any) (restore func()) {
	file, ok := stream.(*os.File)
	if !ok {
		return nil
	}
	at := int(file.Fd())
	job, err := unix.IoctlGetInt(at, unix.TIOCGPGRP)
	if err != nil || job != unix.Getpgrp() {
		return nil
	}
	before, err := unix.IoctlGetTermios(at, getModes)
	if err != nil {
		return nil
	}
	modes := *before
	modes.Lflag &^= unix.ICANON | unix.ECHO
	if unix.IoctlSetTermios(at, setModes, &modes) != nil {
		return nil
	}
	return func() { _ = unix.IoctlSetTermios(at, setModes, before) }
}
