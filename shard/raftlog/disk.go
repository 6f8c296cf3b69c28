package raftlog

import (
	"os"

	"github.com/lni/vfs"
)

// diskFile is a log file on the disk.
type diskFile interface {
	vfs.File
	// SyncData makes what was written outlast a crash, and of the rest of what the file system keeps about the
	// file only what is needed to read it.
	SyncData() error
}

// openDisk opens a file, which need not exist, for writing: past the cache where the file system can do that.
func openDisk(name string) (diskFile, error) {
	file, err := openDirect(name)
	if err != nil {
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

// osFile is a file of the operating system.
type osFile struct{ *os.File }

// SyncData implements diskFile.
func (f osFile) SyncData() error { return syncData(f.File) }
