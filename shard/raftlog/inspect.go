package raftlog

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/logdb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// Inspection is what Inspect found in a data directory.
type Inspection struct {
	// Replicas describe the log content, by shard; empty for a damaged log.
	Replicas []logdb.ReplicaReport
	// Problems are the reasons why a host would refuse to open the directory, or stop when it starts a replica.
	Problems []Problem
}

// Problem is a damaged or missing file, or a file from another version.
type Problem struct {
	File string
	Err  error
}

// Inspect reads the data directory of a host that was opened before, and changes nothing. No host may run on the
// directory. An error means that the directory could not be read.
func Inspect(dir string) (*Inspection, error) {
	i := new(Inspection)
	path := filepath.Join(dir, recordFile)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		i.add(path, missingFile(path))
		return i, nil
	}
	if err != nil {
		return nil, fmt.Errorf("raftlog: inspect %s: %w", dir, err)
	}
	var record directoryRecord
	if err := json.Unmarshal(text, &record); err != nil {
		i.add(path, fmt.Errorf("%w: %w", ErrFormat, err))
		return i, nil
	}
	if err := record.checkFormat(dir); err != nil {
		i.add(path, err)
		return i, nil
	}
	if err := errors.Join(i.readFiles(dir), i.readLog(record.engineDirectory(dir))); err != nil {
		return nil, fmt.Errorf("raftlog: inspect %s: %w", dir, err)
	}
	return i, nil
}

func (i *Inspection) add(file string, err error) { i.Problems = append(i.Problems, Problem{file, err}) }

// readFiles verifies the files the engine keeps beside the log.
func (i *Inspection) readFiles(dir string) error {
	return filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		if err := verifyFile(vfs.Default, path); err != nil {
			i.add(path, err)
		}
		return nil
	})
}

// readLog reads the log in the engine's directory, and looks for the snapshots the log names.
func (i *Inspection) readLog(dir string) error {
	found, err := logdb.Inspect(vfs.Default, dir)
	if err != nil {
		return err
	}
	for _, err := range found.Damage {
		if d, ok := errors.AsType[*wal.DamageError](err); ok {
			i.add(d.File, damageOf(d))
		}
	}
	i.Replicas = found.Replicas
	for _, r := range found.Replicas {
		path, there, err := namedSnapshot(vfs.Default, dir, &r)
		if err != nil {
			return err
		}
		if !there {
			i.add(path, missingFile(path))
		}
	}
	return nil
}

// namedSnapshot returns the file of the snapshot the log names for a replica, in the engine's directory, and whether
// the file exists. If the log names no snapshot, nothing is missing.
func namedSnapshot(disk vfs.FS, dir string, r *logdb.ReplicaReport) (path string, there bool, err error) {
	if r.Snapshot == 0 {
		return "", true, nil
	}
	path, ok := logdb.PathBelow(dir, r.SnapshotFile)
	_, err = disk.Stat(path)
	if !ok || errors.Is(err, fs.ErrNotExist) {
		return path, false, nil
	}
	return path, err == nil, err
}
