//go:build !(linux || darwin || freebsd || netbsd || openbsd)

package identity

import "os"

// lock does nothing on this operating system: only the log's own lock keeps other processes out.
type lock struct{ file *os.File }

func takeLock(path string) (*lock, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, err
	}
	return &lock{file}, nil
}

func (l *lock) release() { _ = l.file.Close() }
