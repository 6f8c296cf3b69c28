package shard

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Batch encoding in the log. All integers are little-endian or LEB128 varints.
//
//	version 1 byte, proposer 8 bytes, sequence varint, number of commands varint,
//	flags 1 byte, and with bit 0 of the flags the stamp: term varint, elapsed varint, then per command:
//	level 1 byte, length of the rest varint, kind 1 byte, fields 2 bytes (one bit for each field that is not
//	zero), further bytes of bits as long as the last bit of the byte before is set, the fields in the order of
//	their bits
//
// The level comes first, so an older build can skip a command above the shard's level without knowing its fields. Count
// and Timeout are stored plus one, so Forever takes one byte.
const (
	batchVersion = 1

	// batchStamped marks a batch with a stamp.
	batchStamped = 1
)

// AppendBatch appends the batch in its log encoding.
func AppendBatch(dst []byte, b *Batch) []byte {
	dst = AppendGathered(dst, b.Proposer, b.Sequence, b.Stamp, len(b.Commands), nil)
	for i := range b.Commands {
		dst = AppendCommand(dst, &b.Commands[i])
	}
	return dst
}

// AppendCommand appends one command as AppendBatch does. A host that gathers a batch while commands arrive appends the
// commands to a buffer, and builds the batch with AppendGathered.
func AppendCommand(dst []byte, c *Command) []byte {
	fields := fieldsOf(c)
	dst = append(dst, byte(max(c.Level, LevelOf(c))), 0)
	body := len(dst)
	dst = append(dst, byte(c.Kind), byte(fields), byte(fields>>8))
	for more := fields >> 15; more&1 != 0; more >>= 8 {
		dst = append(dst, byte(more>>1))
	}
	dst = appendFields(dst, c, fields)
	return codec.SetLength(dst, body)
}

// AppendGathered appends a batch with count commands. The argument commands has the commands as encoded by
// AppendCommand, concatenated. The stamp is left out if its term is zero.
func AppendGathered(dst []byte, proposer, sequence uint64, stamp clock.Stamp, count int, commands []byte) []byte {
	dst = append(dst, batchVersion)
	dst = binary.LittleEndian.AppendUint64(dst, proposer)
	dst = binary.AppendUvarint(dst, sequence)
	dst = binary.AppendUvarint(dst, uint64(count))
	if stamp.Term == 0 {
		dst = append(dst, 0)
	} else {
		dst = append(dst, batchStamped)
		dst = binary.AppendUvarint(dst, stamp.Term)
		dst = binary.AppendUvarint(dst, stamp.Elapsed)
	}
	return append(dst, commands...)
}
