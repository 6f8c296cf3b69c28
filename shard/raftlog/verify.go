package raftlog

import (
	"fmt"
	"path/filepath"

	"github.com/lni/vfs"
)

// verifyFiles verifies the files that the engine keeps beside the log: snapshots and flag files. The engine would stop
// the process as soon as the engine needs a damaged file. An error is an ErrDamaged that names the file. The log
// verifies itself.
//
// verifyFiles also syncs the directories. A killed process may have left new names of files without a sync, and this
// process relies on the names from now on.
func verifyFiles(disk vfs.FS, dir string) error {
	if err := verifyBelow(disk, dir); err != nil {
		return fmt.Errorf("raftlog: look through the data directory: %w", err)
	}
	return nil
}

// verifyBelow verifies the files below a directory up to the first damaged file, and syncs the directories.
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
