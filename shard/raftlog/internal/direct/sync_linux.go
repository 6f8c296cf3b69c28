package direct

import (
	"os"
	"syscall"
)

// openDirect opens a file for writing past the cache. Some file systems do not support that.
func openDirect(name string) (*os.File, error) {
	return os.OpenFile(name, os.O_RDWR|os.O_CREATE|syscall.O_CLOEXEC|syscall.O_DIRECT, 0o666)
}

// SyncData implements File.
func (f osFile) SyncData() error {
	for {
		err := syscall.Fdatasync(int(f.Fd()))
		if err != syscall.EINTR {
			return os.NewSyscallError("fdatasync", err)
		}
	}
}
