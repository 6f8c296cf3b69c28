//go:build unix && !linux

package status

import "golang.org/x/sys/unix"

func fdatasync(fd int) error { return unix.Fsync(fd) }
