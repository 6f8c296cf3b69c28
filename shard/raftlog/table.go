package raftlog

import (
	"fmt"
	"path/filepath"

	"github.com/cockroachdb/pebble/sstable"
	"github.com/lni/vfs"
)

const tableSuffix = ".sst"

func isTable(name string) bool { return filepath.Ext(name) == tableSuffix }

// verifyTable compares all blocks of a table with their checksums. The store does that for each block when it first needs
// it, which may be long after it was opened, and then it stops the process. An error is an ErrDamaged.
func verifyTable(fs vfs.FS, name string) (err error) {
	file, err := fs.Open(name)
	if err != nil {
		return err
	}
	defer func() {
		if panicked := recover(); panicked != nil { // a length that leads nowhere
			err = damagedFile(name, 0, fmt.Errorf("%v", panicked))
		}
	}()
	table, err := sstable.NewReader(file, sstable.ReaderOptions{})
	if err != nil {
		return damagedFile(name, 0, err)
	}
	defer table.Close()
	if err := table.ValidateBlockChecksums(); err != nil {
		return damagedFile(name, 0, err)
	}
	return nil
}
