package diskguard

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// reserve is a file that reserves disk space. The space is released when a step that frees disk space needs it:
// saving a snapshot, after which the preceding log can be dropped.
type reserve struct{ path string }

// held returns the file size, 0 for a missing file or an empty path.
func (r reserve) held() uint64 {
	info, err := os.Stat(r.path)
	if err != nil {
		return 0
	}
	return uint64(info.Size())
}

// take grows or shrinks the file to the wanted size. A file up to twice the wanted size is left unchanged.
func (r reserve) take(want uint64) error {
	switch held := r.held(); {
	case want <= held && held/2 <= want:
		return nil
	case held > want:
		if err := r.release(); err != nil {
			return err
		}
	}
	file, err := os.OpenFile(r.path, os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return fmt.Errorf("diskguard: cannot reserve disk space: %w", err)
	}
	if err := errors.Join(allocate(file, int64(want)), file.Close()); err != nil {
		return errors.Join(fmt.Errorf("diskguard: cannot reserve %s: %w", size(want), err), r.release())
	}
	return nil
}

// release frees the space.
func (r reserve) release() error {
	if err := os.Remove(r.path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("diskguard: cannot release the reserve: %w", err)
	}
	return nil
}

// write fills a file up to a size.
func write(file *os.File, size int64) error {
	at, err := file.Seek(0, io.SeekEnd)
	chunk := make([]byte, 1<<20)
	for err == nil && at < size {
		var n int
		n, err = file.Write(chunk[:min(size-at, int64(len(chunk)))])
		at += int64(n)
	}
	return err
}
