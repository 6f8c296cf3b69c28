// Package direct opens files for direct I/O. Syncing such a file waits for one disk write, instead of first writing the
// page cache and then the disk.
package direct

import (
	"os"
	"unsafe"

	"github.com/lni/vfs"
)

// Sector is the alignment for direct writes, in the file and in memory. Disks require 512 or 4096 bytes.
const Sector = 4096

// File is a file with a data-only sync.
type File interface {
	vfs.File
	// SyncData makes the written data durable, and only the metadata needed to read the data.
	SyncData() error
}

// Open opens or creates a file for writing, bypassing the cache if the file system supports that.
func Open(name string) (File, error) {
	file, err := openDirect(name)
	if err != nil {
		file, err = os.OpenFile(name, os.O_RDWR|os.O_CREATE, 0o666)
	}
	if err != nil {
		return nil, err
	}
	return osFile{file}, nil
}

// osFile is an operating system file.
type osFile struct{ *os.File }

// Memory returns memory aligned for direct writes.
func Memory(n int) []byte {
	b := make([]byte, n+Sector)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (Sector - 1)
	return b[skip : skip+n : skip+n]
}

// Down rounds n down to a sector boundary.
func Down[N int | int64](n N) N { return n &^ (Sector - 1) }

// Up rounds n up to a sector boundary.
func Up[N int | int64](n N) N { return Down(n + Sector - 1) }
