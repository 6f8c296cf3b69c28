// Package backgrounddelete removes large files without making other users of the disk wait. Many file systems are
// mounted so that a disk learns at once which blocks are free again. While a disk takes note of the blocks of a large
// file, the disk does nothing else: a sync of another file waits for 10 ms and more. With this package a file loses its
// name first, and then its blocks, piece by piece.
package backgrounddelete

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lni/vfs"
)

const (
	// pieceBytes is how much is freed at a time.
	pieceBytes = 4 << 20
	// pause is how long other users have the disk between two pieces.
	pause = 10 * time.Millisecond
)

// Remove removes a file, and returns when the file's blocks are free.
func Remove(name string) error {
	file := open(name)
	defer file.free()
	return os.Remove(name)
}

// Rename renames a file. A file that has the new name before is removed as by Remove.
func Rename(from, to string) error {
	file := open(to)
	defer file.free()
	return os.Rename(from, to)
}

// FS is a file system of the operating system whose files lose their blocks in the background.
type FS struct{ vfs.FS }

// Remove implements vfs.FS.
func (FS) Remove(name string) error {
	file := open(name)
	err := os.Remove(name)
	go file.free()
	return err
}

// RemoveAll implements vfs.FS.
func (FS) RemoveAll(name string) error {
	var files []*doomed
	_ = filepath.WalkDir(name, func(path string, _ fs.DirEntry, err error) error {
		if file := open(path); file != nil {
			files = append(files, file)
		}
		return err
	}) // files not reached are removed in any case
	err := os.RemoveAll(name)
	go func() {
		for _, file := range files {
			file.free()
		}
	}()
	return err
}

// doomed is a file that loses its last name; nil if there is nothing to free.
type doomed struct{ *os.File }

// open opens a file large enough to be freed piece by piece. After a failure, the file is removed all the same.
func open(name string) *doomed {
	info, err := os.Lstat(name)
	if err != nil || !info.Mode().IsRegular() || info.Size() <= pieceBytes {
		return nil
	}
	file, err := os.OpenFile(name, os.O_RDWR, 0)
	if err != nil {
		return nil
	}
	return &doomed{file}
}

// turn is the turn to free a file: one at a time.
var turn sync.Mutex

// free frees the blocks of a file without a name, unless a process still has the file open. The loss of the name is
// made durable before: a power failure must not leave the name with a part of the file.
func (d *doomed) free() {
	if d == nil {
		return
	}
	turn.Lock()
	defer turn.Unlock()
	defer d.Close()
	if info, err := d.Stat(); err == nil && ownedAlone(d.File) && syncDirectory(filepath.Dir(d.Name())) == nil {
		shrink(info.Size(), d.Truncate, time.Sleep)
	}
}

// syncDirectory makes the names in a directory durable, or the removal of the directory itself.
func syncDirectory(dir string) error {
	file, err := os.Open(dir)
	if parent := filepath.Dir(dir); errors.Is(err, fs.ErrNotExist) && parent != dir {
		return syncDirectory(parent)
	}
	if err != nil {
		return err
	}
	return errors.Join(file.Sync(), file.Close())
}

// shrink makes a file smaller, piece by piece.
func shrink(size int64, truncate func(int64) error, wait func(time.Duration)) {
	for size -= pieceBytes; size > 0 && truncate(size) == nil; size -= pieceBytes {
		wait(pause)
	}
}
