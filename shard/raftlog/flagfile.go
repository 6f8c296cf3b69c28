package raftlog

import (
	"bytes"
	"crypto/md5"
	"path/filepath"

	"github.com/lni/vfs"
)

// A flag file is one of the engine's with what it knows of a directory: half of an MD5 of the rest (8 bytes), the rest. It panics
// over one that is not what it was, and does not say which.
const flagSum = 8

// flagNames are those in the data directory and, once a snapshot is complete, in its directory.
var flagNames = map[string]bool{
	"dragonboat.ds": true, "NODEHOST.ID": true, "snapshot.metadata": true, "dragonboat.snapshot.message": true,
}

func isFlagFile(path string) bool {
	dir := filepath.Ext(filepath.Dir(path))
	return flagNames[filepath.Base(path)] && dir != ".generating" && dir != ".receiving"
}

// verifyFlagFile compares a flag file with its checksum. An ErrDamaged names the file.
func verifyFlagFile(disk vfs.FS, path string) error {
	text, err := readFile(disk, path)
	if err != nil {
		return err
	}
	if len(text) < flagSum {
		return damagedFile(path, 0, nil)
	}
	sum := md5.Sum(text[flagSum:])
	if !bytes.Equal(text[:flagSum], sum[flagSum:]) {
		return damagedFile(path, 0, nil)
	}
	return nil
}
