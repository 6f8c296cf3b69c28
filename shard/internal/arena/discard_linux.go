package arena

import (
	"os"
	"syscall"
	"unsafe"
)

// discard gives the whole pages of zeros within a piece of memory back to the system: they are zeros that nothing has
// to hold until they are written to.
func discard(p unsafe.Pointer, size uintptr) {
	page := uintptr(os.Getpagesize())
	skip := -uintptr(p) % page
	if skip >= size {
		return
	}
	if whole := (size - skip) / page * page; whole > 0 {
		_ = syscall.Madvise(unsafe.Slice((*byte)(unsafe.Add(p, skip)), whole), syscall.MADV_DONTNEED)
	}
}
