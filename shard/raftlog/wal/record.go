package wal

import (
	"encoding/binary"
	"hash/crc32"
)

// Key names the replica a record belongs to.
type Key struct{ Shard, Replica uint64 }

// Kind is a record's content type. The log's owner may use the kinds from 1 to MaxKind.
type Kind uint8

// MaxKind is the owner's last kind.
const MaxKind Kind = 0x7f

// The log's own kinds.
const (
	// kindSeal is a segment's last record. The next segment existed when the seal was written.
	kindSeal Kind = 0x80 + iota
	// kindMark has no content. It is written when a log is closed, as evidence that everything before the mark is
	// durable.
	kindMark
	// kindFirst holds the number of the first needed segment.
	kindFirst
)

// Place locates a record in a log.
type Place struct {
	Segment uint64
	Offset  uint32
	Bytes   uint32 // including the head and the padding
}

// A record is a head and its data, padded with zeros to a multiple of align. The head is:
//
//	 0  CRC32C of the rest of the head (4 bytes), which begins with the log's id and the number of the segment
//	 4  CRC32C of the data and the zeros after it (4)
//	 8  length of the data (4)
//	12  how much of the segment was durable when the record was appended (4)
//	16  shard (8)
//	24  replica (8)
//	32  kind (1), zeros (3)
//	36  offset of the record in the segment (4)
//
// So a head is valid only at its original place in its original segment: neither leftovers from a file's earlier use
// nor a moved record are read as records.
const (
	headBytes = 40
	align     = 8
	sealBytes = headBytes
	// maxRecord is the maximum record length. The limit keeps offsets within 32 bits.
	maxRecord = 1 << 30
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// head is a record's head.
type head struct {
	dataSum uint32
	length  uint32
	synced  uint32
	key     Key
	kind    Kind
}

// recordBytes is the record size for the given data length.
func recordBytes(data int) int { return headBytes + (data+align-1)&^(align-1) }

func (h head) bytes() int { return recordBytes(int(h.length)) }

// headAt reads the head at the beginning of b; b begins at an offset in the segment with the seed.
func headAt(b []byte, at int64, seed uint32) (h head, ok bool) {
	if len(b) < headBytes || binary.LittleEndian.Uint32(b[36:]) != uint32(at) || b[32] == 0 {
		return head{}, false // the first checks reject most places, faster than a checksum
	}
	if binary.LittleEndian.Uint32(b) != crc32.Update(seed, castagnoli, b[4:headBytes]) {
		return head{}, false
	}
	return head{
		dataSum: binary.LittleEndian.Uint32(b[4:]),
		length:  binary.LittleEndian.Uint32(b[8:]),
		synced:  binary.LittleEndian.Uint32(b[12:]),
		key:     Key{binary.LittleEndian.Uint64(b[16:]), binary.LittleEndian.Uint64(b[24:])},
		kind:    Kind(b[32]),
	}, true
}

// putRecord writes a record at the beginning of b; b begins at an offset in the segment with the seed. The checksum and
// the length in the head are computed from the data.
func putRecord(b []byte, h head, data []byte, at int64, seed uint32) {
	end := recordBytes(len(data))
	clear(b[headBytes+copy(b[headBytes:], data) : end])
	binary.LittleEndian.PutUint32(b[4:], crc32.Checksum(b[headBytes:end], castagnoli))
	binary.LittleEndian.PutUint32(b[8:], uint32(len(data)))
	binary.LittleEndian.PutUint32(b[12:], h.synced)
	binary.LittleEndian.PutUint64(b[16:], h.key.Shard)
	binary.LittleEndian.PutUint64(b[24:], h.key.Replica)
	binary.LittleEndian.PutUint32(b[32:], uint32(h.kind))
	binary.LittleEndian.PutUint32(b[36:], uint32(at))
	binary.LittleEndian.PutUint32(b, crc32.Update(seed, castagnoli, b[4:headBytes]))
}

// recordAt reads the record at the beginning of b. The data alias b.
func recordAt(b []byte, at int64, seed uint32) (h head, data []byte, ok bool) {
	h, ok = headAt(b, at, seed)
	if !ok || h.bytes() > len(b) || crc32.Checksum(b[headBytes:h.bytes()], castagnoli) != h.dataSum {
		return h, nil, false
	}
	return h, b[headBytes : headBytes+int(h.length)], true
}
