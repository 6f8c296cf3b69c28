package raftlog

import (
	"path/filepath"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// verifyFiles verifies the files the engine keeps beside the log: snapshots and flag files. The engine would stop the
// process as soon as it needs a damaged file. An error is an ErrDamaged that names the file. The log verifies itself.
//
// verifyFiles also syncs the directories. A killed process may have left new file names without a sync, and this
// process relies on the names from now on.
//
// The first damaged file ends the verification.
func verifyFiles(disk vfs.FS, dir string) error {
	names, err := disk.List(dir)
	if err != nil {
		return err
	}
	for _, name := range names {
		path := filepath.Join(dir, name)
		info, err := disk.Stat(path)
		switch {
		case err != nil:
		case info.IsDir():
			err = verifyFiles(disk, path)
		default:
			err = verifyFile(disk, path)
		}
		if err != nil {
			return err
		}
	}
	return wal.SyncDirectory(disk, dir)
}

func verifyFile(disk vfs.FS, path string) error {
	switch {
	case isSnapshot(path):
		return verifySnapshot(disk, path)
	case isFlagFile(path):
		_, err := readFlagFile(disk, path)
		return err
	default:
		return nil
	}
}
