package wal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// FS is what a log needs from a file system: a subset of vfs.FS.
type FS interface {
	MkdirAll(dir string, perm os.FileMode) error
	List(dir string) ([]string, error)
	// Open opens a file for reading.
	Open(name string, options ...vfs.OpenOption) (vfs.File, error)
	// OpenDir opens a directory so that its entries can be synced.
	OpenDir(name string) (vfs.File, error)
	Rename(oldName, newName string) error
	Remove(name string) error
	GetDiskUsage(dir string) (vfs.DiskUsage, error)
}

// Disk locates a log.
type Disk struct {
	FS
	// OpenData opens or creates a file, for writing whole sectors from sector-aligned memory.
	OpenData func(name string) (direct.File, error)
}

// SyncDirectory makes a directory's entries durable.
func SyncDirectory(disk FS, dir string) error {
	directory, err := disk.OpenDir(dir)
	if err != nil {
		return err
	}
	return errors.Join(directory.Sync(), directory.Close())
}

// NoRoom reports whether an error means that a disk, or a user's quota, is full.
func NoRoom(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }

// ReadFile reads a file into memory. The caller's memory is reused if it is large enough.
func ReadFile(disk FS, name string, memory []byte) (data []byte, err error) {
	file, err := disk.Open(name)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if int64(cap(memory)) < info.Size() {
		memory = make([]byte, info.Size())
	}
	data = memory[:info.Size()]
	return data, readAt(file, data, 0)
}

// readAt fills b. A shorter file is an error.
func readAt(file io.ReaderAt, b []byte, at int64) error {
	n, err := file.ReadAt(b, at)
	if n == len(b) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return err
}

// ErrDamaged is returned if a log file is missing or not as it was written.
var ErrDamaged = errors.New("wal: the log is damaged")

// DamageError names a damaged log file. It matches ErrDamaged.
type DamageError struct {
	File    string
	Offset  int64 // the first byte that may differ from what was written
	Missing bool
}

// Advice is the advice for a damaged log.
const Advice = "what it holds cannot be trusted; see \"Failure and repair\" in docs/guides/troubleshooting.md"

// Error implements error.
func (d *DamageError) Error() string {
	if d.Missing {
		return fmt.Sprintf("wal: %s is missing: put it back; without it the log is damaged, and %s", d.File, Advice)
	}
	return fmt.Sprintf("wal: %s is damaged from byte %d on: %s", d.File, d.Offset, Advice)
}

// Is makes a DamageError match ErrDamaged.
func (d *DamageError) Is(target error) bool { return target == ErrDamaged }

func damagedAt(file string, offset int64) error { return &DamageError{File: file, Offset: offset} }
func missing(file string) error                 { return &DamageError{File: file, Missing: true} }

// Log file names.
const (
	segmentSuffix = ".wal"
	// partialName is the file that becomes the next segment.
	partialName = "next.partial"
	// reuseName is a retired segment, which becomes the next segment.
	reuseName = "reuse.partial"
)

func segmentName(dir string, number uint64) string {
	return filepath.Join(dir, fmt.Sprintf("%012d%s", number, segmentSuffix))
}
