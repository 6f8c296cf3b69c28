//go:build unix && !linux

package main

import "golang.org/x/sys/unix"

func fdatasync(fd int) error { return unix.Fsync(fd) }
