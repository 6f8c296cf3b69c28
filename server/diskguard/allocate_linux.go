package diskguard

import (
	"errors"
	"os"
	"syscall"
)

// allocate reserves disk blocks for a file up to a size.
func allocate(file *os.File, size int64) error {
	for {
		err := syscall.Fallocate(int(file.Fd()), 0, 0, size)
		switch {
		case errors.Is(err, syscall.EINTR):
		case errors.Is(err, errors.ErrUnsupported): // ENOTSUP, EOPNOTSUPP
			return write(file, size)
		default:
			return err
		}
	}
}
