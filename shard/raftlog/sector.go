package raftlog

import (
	"io"
	"unsafe"
)

const (
	// sector is what direct writes begin, end and lie in memory at multiples of. Disks ask for 512 or 4096 bytes.
	sector = 4096
	// logBuffer is how much is gathered of what comes to a log file between two syncs.
	logBuffer = 256 << 10
)

// sectorWriter appends to a file in whole sectors, as is asked of who writes past the operating system's cache: a sync then
// waits for the disk once, and not for the cache to be written and then for the disk. What was written is in memory
// until it is flushed.
//
// The last sector is filled up with zeros and a mark, and written again with what comes next. A crash in between
// leaves of each sector what was before or what is after, and both begin with all that was flushed before.
type sectorWriter struct {
	file    io.WriterAt
	number  uint32 // of the file
	buffer  []byte // of whole sectors, and one more for the mark
	start   int64  // where the buffer belongs in the file
	used    int    // how much of the buffer is to be in the file
	flushed int    // how much of it is
	synced  int64  // how much of the file outlasts a power failure
}

func newSectorWriter(file io.WriterAt, number uint32, buffer int) *sectorWriter {
	return &sectorWriter{file: file, number: number, buffer: aligned(buffer + sector)}
}

func (w *sectorWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		full := len(w.buffer) - sector
		if w.used == full {
			if err := w.flush(); err != nil {
				return n, err
			}
		}
		some := copy(w.buffer[w.used:full], p)
		w.used += some
		n += some
		p = p[some:]
	}
	return n, nil
}

// flush hands what is in the buffer to the disk, and keeps the sector that is not full.
func (w *sectorWriter) flush() error {
	if w.flushed == w.used {
		return nil
	}
	if err := w.put(wholeSectors(w.flushed)); err != nil {
		return err
	}
	keep := wholeSectors(w.used)
	w.used = copy(w.buffer, w.buffer[keep:w.used])
	w.flushed = w.used
	w.start += int64(keep)
	return nil
}

// put writes the buffer's sectors from one on, with zeros and a mark behind what it holds.
func (w *sectorWriter) put(from int) error {
	end := wholeSectors(w.used + markRoom + sector - 1)
	clear(w.buffer[w.used:end])
	putMark(w.buffer[:end], w.start+int64(end), w.synced, w.number)
	_, err := w.file.WriteAt(w.buffer[from:end], w.start+int64(from))
	return err
}

// hold is for when all that was flushed has been synced.
func (w *sectorWriter) hold() { w.synced = w.start + int64(w.flushed) }

// mark writes down that all that was flushed is held. It is for when nothing comes any more, or nothing soon.
func (w *sectorWriter) mark() error { return w.put(0) }

func wholeSectors(n int) int { return n &^ (sector - 1) }

// aligned returns memory that direct writes take.
func aligned(n int) []byte {
	b := make([]byte, n+sector)
	skip := -int(uintptr(unsafe.Pointer(unsafe.SliceData(b)))) & (sector - 1)
	return b[skip : skip+n : skip+n]
}
