// Package backgrounddelete removes large files without blocking other disk users. Many file systems are mounted with
// immediate discard: while a disk processes a large file's freed blocks, it does nothing else, so syncing another file
// takes 10 ms or more. This package first removes a file's name, and then frees its blocks in small steps.
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
	// pause is the time for other disk users between two steps.
	pause = 10 * time.Millisecond
)

// Remove removes a file, and returns when the file's blocks are free.
func Remove(name string) error {
	file := open(name)
	defer file.free()
	return os.Remove(name)
}

// Rename renames a file. An existing file with the new name is removed as in Remove.
func Rename(from, to string) error {
	file := open(to)
	defer file.free()
	return os.Rename(from, to)
}

// FS is an operating system file system that frees removed files' blocks in the background.
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
	}) // remaining files are removed anyway
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

// turn serializes freeing: one file at a time.
var turn sync.Mutex

// free frees an unnamed file's blocks, unless a process still has the file open. The name's removal is made durable
// first, so a power failure cannot leave the name with a truncated file.
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

// syncDirectory makes a directory's names, or the directory's own removal, durable.
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
