package raftlog

import (
	"encoding/binary"
	"hash/crc32"
	"io"

	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

const (
	sector = direct.Sector
	// logBuffer is how much is gathered of what comes to a log file between two syncs.
	logBuffer = 256 << 10
)

// sectorWriter appends to a file in whole sectors, as writes past the operating system's cache must be. A sync of such
// a file waits for the disk once, and not for the cache to be written and then for the disk. What was written is in
// memory until it is flushed.
//
// The last sector is filled up with zeros and a mark, and written again with what comes next. A crash in between leaves
// of each sector the old or the new content, and both begin with all that was flushed before.
type sectorWriter struct {
	file    io.WriterAt
	number  uint32 // of the file
	buffer  []byte // of whole sectors, and one more for the mark
	start   int64  // the offset of the buffer in the file
	used    int    // how much of the buffer was written
	flushed int    // how much of it is in the file
	synced  int64  // how much of the file is durable
}

func newSectorWriter(file io.WriterAt, number uint32, buffer int) *sectorWriter {
	return &sectorWriter{file: file, number: number, buffer: direct.Memory(buffer + sector)}
}

func (s *sectorWriter) Write(p []byte) (n int, err error) {
	for len(p) > 0 {
		full := len(s.buffer) - sector
		if s.used == full {
			if err := s.flush(); err != nil {
				return n, err
			}
		}
		some := copy(s.buffer[s.used:full], p)
		s.used += some
		n += some
		p = p[some:]
	}
	return n, nil
}

// flush writes the buffer to the file, and keeps the sector that is not full.
func (s *sectorWriter) flush() error {
	if s.flushed == s.used {
		return nil
	}
	if err := s.put(wholeSectors(s.flushed)); err != nil {
		return err
	}
	keep := wholeSectors(s.used)
	s.used = copy(s.buffer, s.buffer[keep:s.used])
	s.flushed = s.used
	s.start += int64(keep)
	return nil
}

// put writes the buffer's sectors from an offset on, with zeros and a mark after what it holds.
func (s *sectorWriter) put(from int) error {
	end := wholeSectors(s.used + markRoom + sector - 1)
	clear(s.buffer[s.used:end])
	putMark(s.buffer[:end], s.start+int64(end), s.synced, s.number)
	_, err := s.file.WriteAt(s.buffer[from:end], s.start+int64(from))
	return err
}

// markSynced is called when all that was flushed has been synced.
func (s *sectorWriter) markSynced() { s.synced = s.start + int64(s.flushed) }

// writeMark writes a mark on all that was synced. It is called when nothing follows, or nothing soon.
func (s *sectorWriter) writeMark() error { return s.put(0) }

func wholeSectors(n int) int { return direct.Down(n) }

// A mark in a file says how much of it had been synced when the mark was written. A record before that offset that is
// not whole was damaged later; one after it may have been torn by a power failure. A mark is at the end of the last
// sector that was written, in the zeros after what the file holds, and is overwritten by what comes next:
//
//	synced (8 bytes), number of the file (4), CRC32C of both, changed by where the mark ends in the file (4)
//
// The store reads no further than the zeros before it. The number distinguishes it from the mark of an earlier file in
// the same blocks, and the offset in the checksum from users' data that happen to have this form.
const (
	markBytes = 16
	// markRoom is the least room for a mark, with enough zeros before it that a reader stops at them.
	markRoom = markBytes + 16
)

// putMark writes a mark at the end of b, which is at the offset end of the file.
func putMark(b []byte, end, synced int64, number uint32) {
	m := b[len(b)-markBytes:]
	binary.LittleEndian.PutUint64(m, uint64(synced))
	binary.LittleEndian.PutUint32(m[8:], number)
	binary.LittleEndian.PutUint32(m[12:], markSum(m, end))
}

// markIn returns how much was synced by the mark at the end of b, 0 where there is no mark of that file.
func markIn(b []byte, end int64, number uint32) (synced int64) {
	m := b[len(b)-markBytes:]
	if binary.LittleEndian.Uint32(m[8:]) != number || binary.LittleEndian.Uint32(m[12:]) != markSum(m, end) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(m))
}

// markSum mixes the offset in by hand: a second checksum would allocate.
func markSum(m []byte, end int64) uint32 {
	const odd = 0x9e3779b1
	return crc32.Checksum(m[:12], castagnoli) ^ uint32(end/sector)*odd
}

// synced returns how much of a file had been synced by the marks in it from an offset on.
func synced(data []byte, from int, number uint32) (most int64) {
	for end := wholeSectors(from) + sector; end <= len(data); end += sector {
		most = max(most, markIn(data[:end], int64(end), number))
	}
	return most
}
