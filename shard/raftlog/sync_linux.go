package raftlog

import (
	"os"
	"syscall"

	"github.com/lni/vfs"
)

// syncData makes what was written to a file outlast a crash, and of the rest of what the file system keeps about
// the file only what is needed to read it.
func syncData(file vfs.File) error {
	f, ok := file.(*os.File)
	if !ok {
		return file.Sync()
	}
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
