package raftlog

import (
	"fmt"
	"os"
	"strings"

	"github.com/lni/dragonboat/v4/statemachine"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// The engine stops the process on most disk errors. While saving a snapshot, one error makes it give up the snapshot
// instead, statemachine.ErrSnapshotAborted: the engine gets that error if the disk has no space for a snapshot file. If
// the engine cannot continue without the file, the host's owner is notified first (Config.Damaged), and can end the
// process so that a supervisor restarts it.

// NoRoom reports whether an error means that the disk has no space for a mandatory write: after space is freed, a
// restarted host continues as before.
func NoRoom(err error) bool { return wal.NoRoom(err) }

// savedSuffix is the suffix of the directory in which the engine saves its own snapshots.
const savedSuffix = ".generating"

// noRoom records that the engine is about to fail because the disk is full.
func (d *disk) noRoom(err error) {
	err = fmt.Errorf("raftlog: the disk has no room for what must be written: %w", err)
	if d.full.CompareAndSwap(nil, &err) && d.damaged != nil {
		d.damaged(err)
	}
}

// explain turns a file error into the right error for the engine. Other errors stay unchanged.
func (d *disk) explain(name string, err error) error {
	switch {
	case !NoRoom(err):
		return err
	case strings.Contains(name, savedSuffix):
		return givenUp{err}
	}
	d.noRoom(err)
	return err
}

// givenUp is the reason for giving up a snapshot. The engine does not look into an error that wraps two errors.
type givenUp struct{ error }

// Is implements errors.Is.
func (givenUp) Is(target error) bool { return target == statemachine.ErrSnapshotAborted }

// Unwrap returns the disk's error.
func (g givenUp) Unwrap() error { return g.error }

// watched is an engine file with explained errors; snapshots are written in pieces.
func (d *disk) watched(name string, file vfs.File, err error) (vfs.File, error) {
	if err != nil {
		return nil, d.explain(name, err)
	}
	if strings.HasSuffix(name, snapshotSuffix) {
		file = inPieces(file)
	}
	return &watchedFile{file, d, name}, nil
}

type watchedFile struct {
	vfs.File
	disk *disk
	name string
}

// Write implements vfs.File.
func (w *watchedFile) Write(p []byte) (int, error) {
	n, err := w.File.Write(p)
	return n, w.disk.explain(w.name, err)
}

// WriteAt implements vfs.File.
func (w *watchedFile) WriteAt(p []byte, at int64) (int, error) {
	n, err := w.File.WriteAt(p, at)
	return n, w.disk.explain(w.name, err)
}

// Sync implements vfs.File.
func (w *watchedFile) Sync() error { return w.disk.explain(w.name, w.File.Sync()) }

// Close implements vfs.File.
func (w *watchedFile) Close() error { return w.disk.explain(w.name, w.File.Close()) }

// OpenForAppend implements vfs.FS.
func (d *disk) OpenForAppend(name string) (vfs.File, error) {
	file, err := d.FS.OpenForAppend(name)
	return d.watched(name, file, err)
}

// OpenDir implements vfs.FS.
func (d *disk) OpenDir(name string) (vfs.File, error) {
	file, err := d.FS.OpenDir(name)
	if err != nil {
		return nil, err
	}
	return d.watched(name, file, nil)
}

// MkdirAll implements vfs.FS.
func (d *disk) MkdirAll(name string, mode os.FileMode) error {
	return d.explain(name, d.FS.MkdirAll(name, mode))
}

// Rename implements vfs.FS.
func (d *disk) Rename(from, to string) error { return d.explain(from, d.FS.Rename(from, to)) }
