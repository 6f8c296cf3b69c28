// Package direct opens files for direct I/O. A sync of such a file waits for one disk write, instead of a write of the
// page cache and a second one of the disk.
package direct

import (
	"os"
	"unsafe"

	"github.com/lni/vfs"
)

// Sector is the alignment of direct writes, in the file and in memory. Disks require 512 or 4096 bytes.
const Sector = 4096

// File is a file whose data can be synced alone.
type File interface {
	vfs.File
	// SyncData makes the written data durable, and of the file's metadata only what is needed to read it.
	SyncData() error
}

// Open opens a file, which need not exist, for writing: past the cache where the file system can do that.
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

// osFile is a file of the operating system.
type osFile struct{ *os.File }

// Memory returns memory that is aligned for direct writes.
func Memory(n int) []byte {
	b := make([]byte, n+Sector)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (Sector - 1)
	return b[skip : skip+n : skip+n]
}

// Down returns the last border of sectors that is not after n.
func Down[N int | int64](n N) N { return n &^ (Sector - 1) }

// Up returns the first border of sectors that is not before n.
func Up[N int | int64](n N) N { return Down(n + Sector - 1) }
