//go:build linux || darwin || freebsd || netbsd || openbsd

package identity

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
)

// lock keeps competing processes out. The operating system releases the lock however the process ends. The file is
// never removed, because removing it would let two processes lock two files with one name.
type lock struct{ file *os.File }

func takeLock(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		defer file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w by %s; stop that process, or give this host another --data-dir", ErrInUse,
				holder(file))
		}
		return nil, fmt.Errorf("cannot lock %s: %w", path, err)
	}
	// The number only serves error messages in competing processes.
	_ = file.Truncate(0)
	_, _ = file.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	return &lock{file}, nil
}

func (l *lock) release() { _ = l.file.Close() }

// holder names the process that holds the lock, if the file contains its number.
func holder(file *os.File) string {
	text, _ := io.ReadAll(io.LimitReader(file, 32))
	if pid, err := strconv.Atoi(strings.TrimSpace(string(text))); err == nil {
		return "process " + strconv.Itoa(pid)
	}
	return "another process"
}
