//go:build !linux

package arena

import "unsafe"

// discard does nothing on this system: the memory stays with its piece.
func discard(unsafe.Pointer, uintptr) {}
