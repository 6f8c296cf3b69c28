// Package freeing removes large files without making others on the same disk wait. Many file systems are mounted so
// that a disk learns at once which blocks are free again, and while it takes note of those of a large file it does
// nothing else: a sync of another file waits for 10 ms and more. Here a file loses its name first, and then its blocks,
// piece by piece.
package freeing

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
	// pause is how long others have the disk in between.
	pause = 10 * time.Millisecond
)

// Remove removes a file, and returns when its blocks are free.
func Remove(name string) error {
	file := open(name)
	defer file.free()
	return os.Remove(name)
}

// Rename gives a file another name. Where a file has it already, that one is removed as by Remove.
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
	}) // what it does not come to is removed in any case
	err := os.RemoveAll(name)
	go func() {
		for _, file := range files {
			file.free()
		}
	}()
	return err
}

// doomed is a file that loses its last name; nil where there is nothing to do for it.
type doomed struct{ *os.File }

// open opens a file that is large enough to be freed piece by piece. Where that fails, it is removed all the same.
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

// turn is that of the file that is being freed: one at a time.
var turn sync.Mutex

// free frees the blocks of a file whose name is gone, unless a process still has it. That the name is gone is made
// durable before: a power failure must not leave it with a part of the file.
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

// syncDirectory makes the names in a directory durable, or that it is gone itself.
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
