package raftlog

import (
	"os"
	"unsafe"
)

const (
	// sector is what direct writes begin, end and lie in memory at multiples of. Disks ask for 512 or 4096 bytes.
	sector = 4096
	// directBuffer is how much is gathered of what comes between two syncs.
	directBuffer = 256 << 10
)

// directWriter appends to a file past the operating system's cache: a sync then waits for the disk once, and not
// for the cache to be written and then for the disk. What was written is in memory until it is flushed.
//
// The disk is written in whole sectors, so the last one is filled up with zeros, and written again with what
// comes next. A crash in between leaves the sector as it was before or as it is after, and both begin with
// all that was flushed before.
type directWriter struct {
	file    *os.File
	buffer  []byte // of whole sectors
	start   int64  // where the buffer belongs in the file
	used    int    // how much of the buffer is to be in the file
	flushed int    // how much of it is
}

func newDirectWriter(file *os.File) *directWriter {
	return &directWriter{file: file, buffer: aligned(directBuffer)}
}

func (w *directWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		if w.used == len(w.buffer) {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
		some := copy(w.buffer[w.used:], p)
		w.used += some
		n += some
		p = p[some:]
	}
	return n, nil
}

// flush hands what is in the buffer to the disk, and keeps the sector that is not full.
func (w *directWriter) flush() error {
	if w.flushed == w.used {
		return nil
	}
	from, end := wholeSectors(w.flushed), wholeSectors(w.used+sector-1)
	clear(w.buffer[w.used:end])
	if _, err := w.file.WriteAt(w.buffer[from:end], w.start+int64(from)); err != nil {
		return err
	}
	keep := wholeSectors(w.used)
	w.used = copy(w.buffer, w.buffer[keep:w.used])
	w.flushed = w.used
	w.start += int64(keep)
	return nil
}

func wholeSectors(n int) int { return n &^ (sector - 1) }

// aligned returns memory that direct writes take.
func aligned(n int) []byte {
	b := make([]byte, n+sector)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (sector - 1)
	return b[skip : skip+n : skip+n]
}
