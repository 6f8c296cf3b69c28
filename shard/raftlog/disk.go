package raftlog

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sync/atomic"

	"github.com/lni/dragonboat/v4/config"
	"github.com/lni/dragonboat/v4/raftio"
	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/internal/backgrounddelete"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// disk is a host's file system. The log store uses it unchanged. For the files the engine keeps beside the log, disk
// adds three things: a power failure leaves no partial file the engine expects to be complete (wholefile.go), errors
// about a missing snapshot name the snapshot, and snapshots are written in pieces.
type disk struct {
	Files
	// damaged, if set, is called when the engine needs a missing snapshot. The engine never removes a snapshot a log
	// record refers to, so another program has removed it.
	damaged func(error)
	// full is the first out-of-space error the engine cannot recover from.
	full atomic.Pointer[error]
}

// Files is the file system for a data directory.
type Files struct {
	vfs.FS
	// OpenData opens a log file for writing, as wal.Disk describes.
	OpenData func(name string) (direct.File, error)
	// LockDirectory locks a directory against all other hosts until the lock is closed. While a host has the lock, the
	// error wraps ErrDirectoryInUse.
	LockDirectory func(dir string) (io.Closer, error)
	// SegmentBytes is the size up to which log files grow; 0 uses the store's default.
	SegmentBytes int64
}

// systemFiles is the operating system's file system.
func systemFiles() Files {
	return Files{FS: backgrounddelete.FS{FS: vfs.Default}, OpenData: direct.Open, LockDirectory: lockDirectory}
}

func systemDisk() *disk { return &disk{Files: systemFiles()} }

// disk is the disk in the config's file system.
func (c Config) disk() *disk {
	if c.Files == nil {
		return systemDisk()
	}
	return &disk{Files: *c.Files}
}

// store returns a factory that opens a host's log store.
func (d *disk) store(c Config) *storeFactory {
	return &storeFactory{disk: d.FS, Factory: logdb.Factory{
		Disk: wal.Disk{FS: d.FS, OpenData: d.OpenData}, SegmentBytes: d.SegmentBytes,
		RecentBytes: c.RecentBytes, Existing: c.Used, Least: c.LogEnd, Synced: c.Synced,
		Full: func(err error, last bool) {
			if c.Relieve != nil && !last {
				c.Relieve()
			}
			if last {
				d.noRoom(err)
			}
		},
	}}
}

// storeFactory opens the log store for the engine, and keeps the store and the error, because the engine hides both.
type storeFactory struct {
	logdb.Factory
	disk vfs.FS
	db   *logdb.DB
	err  error
	// opened, if set, is called with the store before the engine gets it.
	opened func(*logdb.DB)
}

// Create implements config.LogDBFactory.
func (s *storeFactory) Create(_ config.NodeHostConfig, _ config.LogDBCallback, dirs, _ []string) (
	raftio.ILogDB, error) {
	if s.db, s.err = s.Open(dirs[0]); s.err != nil {
		return nil, s.err
	}
	if s.err = s.findSnapshots(dirs[0]); s.err != nil {
		return nil, errors.Join(s.err, s.db.Close())
	}
	if s.opened != nil {
		s.opened(s.db)
	}
	return s.db, nil
}

// findSnapshots checks that the snapshots named in the log are in the engine's directory. The engine would stop the
// process as soon as it needs a missing snapshot.
func (s *storeFactory) findSnapshots(dir string) error {
	for _, r := range s.db.Replicas() {
		path, there, err := namedSnapshot(s.disk, dir, &r)
		if err != nil {
			return fmt.Errorf("raftlog: look for %s: %w", path, err)
		}
		if !there {
			return missingFile(path)
		}
	}
	return nil
}

// Create implements vfs.FS.
func (d *disk) Create(name string) (vfs.File, error) {
	if isWhole(name) {
		file, err := createWhole(d.FS, name)
		return d.watched(name, file, err)
	}
	file, err := d.FS.Create(name)
	return d.watched(name, file, err)
}

// snapshotPiece is how many snapshot bytes are written at a time: a log sync would wait until the whole piece is on
// disk.
const snapshotPiece = 128 << 10

// piecewise is a file that is written in pieces, however much the engine writes at once. The rest is synced on close:
// for an arriving snapshot, the engine opens the file again for each chunk.
type piecewise struct{ vfs.File }

func inPieces(file vfs.File) vfs.File {
	return piecewise{vfs.NewSyncingFile(file, vfs.SyncingFileOptions{BytesPerSync: snapshotPiece})}
}

// Write implements vfs.File.
func (p piecewise) Write(all []byte) (n int, err error) {
	for len(all) > n && err == nil {
		var written int
		written, err = p.File.Write(all[n:min(len(all), n+snapshotPiece)])
		n += written
	}
	return n, err
}

// Open implements vfs.FS.
func (d *disk) Open(name string, options ...vfs.OpenOption) (vfs.File, error) {
	file, err := d.FS.Open(name, options...)
	if isSnapshot(name) && errors.Is(err, fs.ErrNotExist) {
		err = missingFile(name)
		if d.damaged != nil {
			d.damaged(err)
		}
	}
	return file, err
}
