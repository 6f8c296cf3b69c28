package raftlog

import (
	"fmt"
	"path/filepath"

	"github.com/lni/vfs"
)

// verifyFiles verifies what the engine keeps beside the log: snapshots and flag files. It would stop the process where
// one is damaged, when it needs it. An error is an ErrDamaged that names the file. The log verifies itself.
//
// It also syncs the directories. A process that was killed may have given files names that it had not synced, and this
// one relies on them from now on.
func verifyFiles(disk vfs.FS, dir string) error {
	if err := verifyBelow(disk, dir); err != nil {
		return fmt.Errorf("raftlog: look through the data directory: %w", err)
	}
	return nil
}

// verifyBelow verifies the files below a directory up to the first that is damaged, and syncs the directories.
func verifyBelow(disk vfs.FS, dir string) error {
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
			err = verifyBelow(disk, path)
		default:
			err = verifyFile(disk, path)
		}
		if err != nil {
			return err
		}
	}
	return syncDirectory(disk, dir)
}

func verifyFile(disk vfs.FS, path string) error {
	switch {
	case isSnapshot(path):
		return verifySnapshot(disk, path)
	case isFlagFile(path):
		return verifyFlagFile(disk, path)
	default:
		return nil
	}
}
