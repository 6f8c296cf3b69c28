//go:build unix

package datadir

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/signalbox/signalbox/server/identity"
	"github.com/signalbox/signalbox/shard/raftlog"
)

// Names in a data directory.
const (
	lockFile      = "lock"
	recordFile    = "host.json"
	segmentSuffix = ".wal"
)

// Directory is a data directory being inspected.
type Directory struct {
	Path     string
	Identity identity.Identity
	// InUse is the process that uses the directory, if known; empty for none.
	InUse string
	// Machine is the name of the machine that filled the log, empty without a log.
	Machine string
	// Logs and Snapshots are the log files, and all snapshots, with every shard's newest last.
	Logs      []File
	Snapshots []Snapshot

	lock *os.File
}

// File is a file with its size.
type File struct {
	Path  string // within the directory
	Bytes int64
}

// Open opens a directory for inspection. The caller must close it.
func Open(path string) (*Directory, error) {
	id, err := identity.Read(path)
	if err != nil {
		return nil, err
	}
	d := &Directory{Path: path, Identity: id}
	if err := d.keepOut(); err != nil {
		return nil, err
	}
	if err := d.scan(); err != nil {
		d.Close()
		return nil, fmt.Errorf("cannot read %s: %w", path, err)
	}
	return d, nil
}

// Close lets hosts start with the directory.
func (d *Directory) Close() {
	if d.lock != nil {
		_ = d.lock.Close() // the file was only read
	}
}

// keepOut locks hosts out, or finds the host that is running. Several processes may read the directory at once.
func (d *Directory) keepOut() error {
	file, err := os.Open(filepath.Join(d.Path, lockFile))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a copy, for example from a backup
	}
	if err != nil {
		return fmt.Errorf("cannot check whether a host runs on %s: %w", d.Path, err)
	}
	d.lock = file
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_SH|syscall.LOCK_NB); err == nil {
		return nil
	} else if !errors.Is(err, syscall.EWOULDBLOCK) {
		d.Close()
		return fmt.Errorf("cannot check whether a host runs on %s: %w", d.Path, err)
	}
	d.InUse = "a host"
	if text, err := io.ReadAll(io.LimitReader(file, 32)); err == nil && len(text) > 0 {
		d.InUse = "process " + strings.TrimSpace(string(text))
	}
	return nil
}

// scan finds the log files and the snapshots.
func (d *Directory) scan() error {
	top := filepath.Join(d.Path, identity.LogName)
	var record struct {
		Hostname string `json:"hostname"`
	}
	if text, err := os.ReadFile(filepath.Join(top, recordFile)); err == nil {
		_ = json.Unmarshal(text, &record) // ReadLog reports the error
		d.Machine = record.Hostname
	}
	err := filepath.WalkDir(top, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return ignoreGone(err)
		}
		info, err := e.Info()
		if err != nil {
			return ignoreGone(err)
		}
		inside, err := filepath.Rel(d.Path, path)
		if err != nil {
			return err
		}
		file := File{inside, info.Size()}
		if s, ok := snapshotOf(file, info.ModTime()); ok {
			d.Snapshots = append(d.Snapshots, s)
		} else if filepath.Ext(path) == segmentSuffix {
			d.Logs = append(d.Logs, file)
		}
		return nil
	})
	slices.SortFunc(d.Snapshots, compareSnapshots)
	return err
}

// ignoreGone ignores errors about files a running host has removed meanwhile.
func ignoreGone(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// ReadLog reads the log and verifies all related files. No host may use the directory.
func (d *Directory) ReadLog() (*raftlog.Inspection, error) {
	if !d.Identity.Started && d.Machine == "" {
		return new(raftlog.Inspection), nil // no host has had a log there
	}
	return raftlog.Inspect(filepath.Join(d.Path, identity.LogName))
}

// LogBytes returns the log's size.
func (d *Directory) LogBytes() (sum int64) {
	for _, f := range d.Logs {
		sum += f.Bytes
	}
	return sum
}

// Newest returns a shard's newest snapshot.
func (d *Directory) Newest(shard uint64) (newest Snapshot, ok bool) {
	for _, s := range d.Snapshots {
		if s.Shard == shard {
			newest, ok = s, true
		}
	}
	return newest, ok
}
