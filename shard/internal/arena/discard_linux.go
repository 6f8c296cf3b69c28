package arena

import (
	"os"
	"syscall"
	"unsafe"
)

// discard returns the whole zero pages within a memory piece to the system, which provides zero pages again on the next
// write.
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
