//go:build unix && !linux

package overview

import "golang.org/x/sys/unix"

func fdatasync(fd int) error { return unix.Fsync(fd) }
