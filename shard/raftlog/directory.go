package raftlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"syscall"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

const (
	lockFile   = "host.lock"
	recordFile = "host.json"
	// recordFormat is the format of the record and of everything in the directory. Formats 2 and 3 had the log in the
	// engine's own store, format 4 had addresses in the log. In format 5 the log names hosts by their incarnations.
	recordFormat = 5
	// oldestFormat is the oldest format with a record. This version cannot read formats older than recordFormat.
	oldestFormat = 2
)

// directoryRecord names the host a data directory belongs to. The engine checks some of the record too, but only after
// it has created files, and without naming the differences.
type directoryRecord struct {
	Format         int                                `json:"format"`
	Host           shard.HostID                       `json:"host"`
	Incarnation    hosts.Incarnation                  `json:"incarnation"`
	Deployment     uint64                             `json:"deployment"`
	Hostname       string                             `json:"hostname"`
	InitialMembers map[shard.HostID]hosts.Incarnation `json:"initial_members"`
	Workers        int                                `json:"workers"`
}

// recordOf returns the record for a host's directory on this machine.
func recordOf(c Config) (directoryRecord, error) {
	hostname, err := os.Hostname()
	if err != nil {
		return directoryRecord{}, fmt.Errorf("raftlog: the machine's host name: %w", err)
	}
	return directoryRecord{
		Format: recordFormat, Host: c.Host, Incarnation: c.Incarnation, Deployment: c.Deployment,
		Hostname: hostname, InitialMembers: c.InitialMembers, Workers: c.Workers,
	}, nil
}

// directoryLock is the process's lock on a data directory. The engine's own lock does not exclude a second host in the
// same process.
type directoryLock struct {
	file io.Closer
	used bool // a host was opened on the directory before
}

// claimDirectory creates a missing data directory, locks the directory, and refuses another host's directory. It sets
// the config's number of workers.
func claimDirectory(c *Config, disk *disk) (*directoryLock, error) {
	if err := makeDirectory(disk, c.DataDir); err != nil {
		return nil, fmt.Errorf("raftlog: make the data directory: %w", err)
	}
	file, err := disk.LockDirectory(c.DataDir)
	if err != nil {
		return nil, err
	}
	lock := &directoryLock{file: file}
	found, err := checkDirectory(*c, disk)
	if err != nil {
		lock.release()
		return nil, err
	}
	if lock.used = found != nil; lock.used {
		c.Workers = found.Workers
	} else {
		c.Workers = c.workersFor(disk)
	}
	return lock, nil
}

// lockDirectory locks a directory in the operating system's file system.
func lockDirectory(dir string) (io.Closer, error) {
	file, err := os.OpenFile(filepath.Join(dir, lockFile), os.O_CREATE|os.O_RDWR, 0o640)
	if err != nil {
		return nil, fmt.Errorf("raftlog: lock the data directory: %w", err)
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		file.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, fmt.Errorf("%w: %s: stop the process, or give this host a separate directory",
				ErrDirectoryInUse, dir)
		}
		return nil, fmt.Errorf("raftlog: lock the data directory %s: %w", dir, err)
	}
	return file, nil
}

// makeDirectory creates a directory and the missing parents, durably.
func makeDirectory(disk vfs.FS, dir string) error {
	above := filepath.Dir(dir)
	if _, err := disk.Stat(dir); err == nil {
		_ = wal.SyncDirectory(disk, above) // the creator may have been killed; a foreign directory may refuse
		return nil
	}
	if above != dir {
		if err := makeDirectory(disk, above); err != nil {
			return err
		}
	}
	if err := disk.MkdirAll(dir, 0o750); err != nil {
		return err
	}
	return wal.SyncDirectory(disk, above)
}

func (d *directoryLock) release() { d.file.Close() }

// checkDirectory returns a directory's record, nil without one, after comparing the record with the config.
func checkDirectory(c Config, disk vfs.FS) (*directoryRecord, error) {
	want, err := recordOf(c)
	if err != nil {
		return nil, err
	}
	text, err := wal.ReadFile(disk, filepath.Join(c.DataDir, recordFile), nil)
	if errors.Is(err, fs.ErrNotExist) && c.Used {
		return nil, missingFile(filepath.Join(c.DataDir, recordFile))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: read the data directory's record: %w", err)
	}
	var found directoryRecord
	if err := json.Unmarshal(text, &found); err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrFormat, filepath.Join(c.DataDir, recordFile), err)
	}
	return &found, found.compare(want, c.DataDir)
}

// engineDirectory is the engine's directory below a data directory: the log and the snapshots.
func (d directoryRecord) engineDirectory(dir string) string {
	const unnamed = 1 // the engine's name for an unset deployment
	return filepath.Join(dir, d.Hostname, fmt.Sprintf("%020d", max(d.Deployment, unnamed)))
}

// checkFormat returns an error if a directory's format is not recordFormat.
func (d directoryRecord) checkFormat(dir string) error {
	switch {
	case d.Format >= oldestFormat && d.Format < recordFormat:
		return fmt.Errorf("%w: %s has format %d from an earlier version; this version reads only format %d. "+
			"The directory was not changed: %s", ErrFormat, dir, d.Format, recordFormat, moveAdvice)
	case d.Format != recordFormat:
		return fmt.Errorf("%w: %s has format %d, this version has %d: use the version that wrote the directory",
			ErrFormat, dir, d.Format, recordFormat)
	default:
		return nil
	}
}

// compare returns an error if a directory's record does not match the host with the record want.
func (d directoryRecord) compare(want directoryRecord, dir string) error {
	if err := d.checkFormat(dir); err != nil {
		return err
	}
	switch {
	case d.Deployment != want.Deployment:
		return fmt.Errorf("%w: %s has deployment %d, but this host has %d: give this host a separate directory",
			ErrOtherDeployment, dir, d.Deployment, want.Deployment)
	case d.Host != want.Host:
		return fmt.Errorf("%w: %s belongs to host %d, but this is host %d: give this host a separate directory",
			ErrOtherHost, dir, d.Host, want.Host)
	case d.Incarnation != want.Incarnation:
		return fmt.Errorf("%w: %s has incarnation %s, but this host has %s: give this host a separate directory",
			ErrOtherIncarnation, dir, d.Incarnation, want.Incarnation)
	case d.Hostname != want.Hostname:
		return fmt.Errorf("%w: %s was written on %q, but this machine is %q: restore the former host name for the "+
			"machine or container",
			ErrHostnameChanged, dir, d.Hostname, want.Hostname)
	case !maps.Equal(d.InitialMembers, want.InitialMembers):
		return fmt.Errorf("%w: %s was written with %v, but the config has %v: restore the former initial members, "+
			"which are part of the replicated log",
			ErrInitialMembersChanged, dir, d.InitialMembers, want.InitialMembers)
	}
	return nil
}

// record writes a missing directory record, after the engine has accepted the directory.
func (d *directoryLock) record(c Config, disk vfs.FS) error {
	path := filepath.Join(c.DataDir, recordFile)
	if _, err := disk.Stat(path); err == nil {
		return nil
	}
	record, err := recordOf(c)
	if err != nil {
		return err
	}
	text, err := json.MarshalIndent(record, "", "\t")
	if err != nil {
		return fmt.Errorf("raftlog: encode the data directory's record: %w", err)
	}
	if err := writeDurably(disk, path, append(text, '\n')); err != nil {
		return fmt.Errorf("raftlog: write the data directory's record: %w", err)
	}
	return nil
}
