package raftlog

import (
	"encoding/binary"
	"hash/crc32"
)

// A mark says in a file itself how much of it had been synced when the mark was written. What is not whole before that
// place was damaged later; what is not whole behind it may be what a power failure tore. A mark is at the end of the last
// sector that was written, in the zeros behind what the file holds, and is overwritten by what comes next:
//
//	synced (8 bytes), number of the file (4), CRC32C of both, changed by where the mark ends in the file (4)
//
// The store reads no further than the zeros before it. The number tells it from those of another file that had the
// place before, and the place tells it from what somebody's data happen to be.
const (
	markBytes = 16
	// markRoom is the least that is left for a mark: so many zeros before it that a reader stops at them.
	markRoom = markBytes + 16
)

// putMark writes a mark at the end of b, which is where the file has the byte end.
func putMark(b []byte, end, synced int64, number uint32) {
	m := b[len(b)-markBytes:]
	binary.LittleEndian.PutUint64(m, uint64(synced))
	binary.LittleEndian.PutUint32(m[8:], number)
	binary.LittleEndian.PutUint32(m[12:], markSum(m, end))
}

// markIn returns what the mark at the end of b says, 0 where there is none of that file.
func markIn(b []byte, end int64, number uint32) (synced int64) {
	m := b[len(b)-markBytes:]
	if binary.LittleEndian.Uint32(m[8:]) != number || binary.LittleEndian.Uint32(m[12:]) != markSum(m, end) {
		return 0
	}
	return int64(binary.LittleEndian.Uint64(m))
}

// markSum mixes the place in by hand: a second checksum would put it on the heap.
func markSum(m []byte, end int64) uint32 {
	const odd = 0x9e3779b1
	return crc32.Checksum(m[:12], castagnoli) ^ uint32(end/sector)*odd
}

// synced returns how much of a file had been synced by what is written in it from a byte on.
func synced(data []byte, from int, number uint32) (most int64) {
	for end := wholeSectors(from) + sector; end <= len(data); end += sector {
		most = max(most, markIn(data[:end], int64(end), number))
	}
	return most
}
