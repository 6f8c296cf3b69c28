package arena

import (
	"slices"
	"syscall"
	"testing"
	"unsafe"
)

// TestWhatABurstLeftKeepsLittleMemory: if a single item stays in a piece, the rest of its memory is returned to the
// system.
func TestWhatABurstLeftKeepsLittleMemory(t *testing.T) {
	const burst = 16 * pieceChunks * chunkSize
	var s Slab[[64]byte]
	var handles []Handle
	for range burst {
		h := s.Alloc()
		s.At(h)[0] = 1
		handles = append(handles, h)
	}
	const stays = (8*pieceChunks + 5) * chunkSize
	slices.Reverse(handles) // so that the earlier ones are spare
	for _, h := range handles {
		if h != stays {
			s.Release(h)
		}
	}
	_, first, end := pieceOf(stays >> chunkBits)
	size := int(end-first) * int(unsafe.Sizeof(*s.zeros))
	pages := make([]byte, size/syscall.Getpagesize())
	_, _, failed := syscall.Syscall(syscall.SYS_MINCORE, s.chunks[first], uintptr(size),
		uintptr(unsafe.Pointer(&pages[0])))
	if failed != 0 {
		t.Fatal(failed)
	}
	resident := 0
	for _, p := range pages {
		resident += int(p & 1)
	}
	if most := len(pages) / pieceChunks; resident > most {
		t.Errorf("%d of %d pages stay for one thing; %d are enough", resident, len(pages), most)
	}
	if s.At(stays)[0] != 1 || *s.At(stays - chunkSize) != ([64]byte{}) {
		t.Error("the thing that stays is lost, or another is there")
	}
}
