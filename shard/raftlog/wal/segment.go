package wal

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/lni/vfs"
	"github.com/signalbox/signalbox/shard/raftlog/internal/direct"
)

// header is a segment's first sector. It is durable before the file gets a segment name.
type header struct {
	log      uint64 // random, and equal in all segments of the log
	number   uint64 // segment number
	first    uint64 // the first needed segment when this segment was created
	capacity int64  // the maximum segment length
	filled   int64  // the minimum file length
}

// A header is: "signalbx" (8 bytes), format (8), log, number, first, capacity, filled (8 each), CRC32C of everything
// before (4).
const (
	headerMagic  = "signalbx"
	headerFormat = 1
	headerBytes  = 60
	// firstRecord is the offset of a segment's first record.
	firstRecord = direct.Sector
)

func (h header) put(b []byte) {
	copy(b, headerMagic)
	for i, v := range []uint64{headerFormat, h.log, h.number, h.first, uint64(h.capacity), uint64(h.filled)} {
		binary.LittleEndian.PutUint64(b[8+8*i:], v)
	}
	binary.LittleEndian.PutUint32(b[headerBytes-4:], crc32.Checksum(b[:headerBytes-4], castagnoli))
}

func headerOf(b []byte) (h header, ok bool) {
	if len(b) < firstRecord || string(b[:8]) != headerMagic ||
		binary.LittleEndian.Uint64(b[8:]) != headerFormat ||
		binary.LittleEndian.Uint32(b[headerBytes-4:]) != crc32.Checksum(b[:headerBytes-4], castagnoli) {
		return header{}, false
	}
	at := func(i int) uint64 { return binary.LittleEndian.Uint64(b[16+8*i:]) }
	return header{log: at(0), number: at(1), first: at(2), capacity: int64(at(3)), filled: int64(at(4))}, true
}

// seed is the initial value for the head checksums in a segment.
func (h header) seed() uint32 {
	var b [16]byte
	binary.LittleEndian.PutUint64(b[:], h.log)
	binary.LittleEndian.PutUint64(b[8:], h.number)
	return crc32.Checksum(b[:], castagnoli)
}

// segment is one log file.
type segment struct {
	header
	path  string
	chain uint32      // the seed
	file  direct.File // open for writing: the current and the next segment

	// guarded by Log.mu
	reader vfs.File // open for reading, after the first read
	needed int64    // bytes
	end    int64    // end of the records, once the segment is sealed
}

func newSegment(dir string, h header) *segment {
	return &segment{header: h, path: segmentName(dir, h.number), chain: h.seed()}
}

// size is the segment's size on disk.
func (s *segment) size() int64 { return max(s.filled, s.end) }

func (s *segment) close() (err error) {
	if s.file != nil {
		err = s.file.Close()
	}
	if s.reader != nil {
		err = errors.Join(err, s.reader.Close())
	}
	s.file, s.reader = nil, nil
	return err
}

// listSegments returns the segment numbers in a directory, in order.
func listSegments(disk FS, dir string) (numbers []uint64, err error) {
	names, err := disk.List(dir)
	if err != nil {
		return nil, err
	}
	for _, name := range names {
		text, ok := strings.CutSuffix(filepath.Base(name), segmentSuffix)
		number, err := strconv.ParseUint(text, 10, 64)
		if ok && err == nil {
			numbers = append(numbers, number)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// checkGaps checks that no segment is missing in between.
func checkGaps(dir string, numbers []uint64) error {
	for i, number := range numbers {
		if want := numbers[0] + uint64(i); number != want {
			return missing(segmentName(dir, want))
		}
	}
	return nil
}
