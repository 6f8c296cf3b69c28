//go:build !linux

package raftlog

import "github.com/lni/vfs"

// syncData makes what was written to a file outlast a crash.
func syncData(file vfs.File) error { return file.Sync() }
