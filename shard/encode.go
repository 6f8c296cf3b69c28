package shard

import "encoding/binary"

// The form of a batch in the log. All integers are little-endian or LEB128 varints.
//
//	version 1 byte, proposer 8 bytes, sequence varint, number of commands varint, then per command:
//	level 1 byte, length of what follows varint, kind 1 byte, fields 2 bytes (one bit for each field that is not
//	zero), a third byte of such bits where hasMore says so, the fields in the order below
//
// The level stands first, so that a command above the shard's can be passed over by builds that know nothing of what it
// says. Count and Timeout are stored plus one, so that Forever takes one byte.
//
// Version 1, which logs of before the levels have, lacks level and length: its commands are of the first level.
const (
	batchVersion       = 2
	batchWithoutLevels = 1
)

// AppendBatch appends the batch in the form that the log carries.
func AppendBatch(dst []byte, b *Batch) []byte {
	dst = append(dst, batchVersion)
	dst = binary.LittleEndian.AppendUint64(dst, b.Proposer)
	dst = binary.AppendUvarint(dst, b.Sequence)
	dst = binary.AppendUvarint(dst, uint64(len(b.Commands)))
	for i := range b.Commands {
		dst = AppendCommand(dst, &b.Commands[i])
	}
	return dst
}

// AppendCommand appends one command as AppendBatch does. A host that gathers a batch while commands
// arrive appends them to a buffer of their own and puts the batch together with AppendGathered.
func AppendCommand(dst []byte, c *Command) []byte {
	fields := fieldsOf(c)
	dst = append(dst, byte(max(c.Level, levelOf(c, fields))), 0)
	body := len(dst)
	dst = appendBody(dst, c, fields)
	if n := len(dst) - body; n < 0x80 {
		dst[body-1] = byte(n)
		return dst
	}
	return lengthen(dst, body)
}

// lengthen writes the length of the bytes from body on, for which one byte was left, where it takes more.
func lengthen(dst []byte, body int) []byte {
	var length [binary.MaxVarintLen64]byte
	n := len(dst) - body
	more := binary.PutUvarint(length[:], uint64(n)) - 1
	dst = append(dst, length[:more]...) // room; what it holds is overwritten
	copy(dst[body+more:], dst[body:body+n])
	copy(dst[body-1:], length[:more+1])
	return dst
}

// AppendGathered appends a batch of count commands whose AppendCommand forms stand one behind the
// other in commands.
func AppendGathered(dst []byte, proposer, sequence uint64, count int, commands []byte) []byte {
	dst = append(dst, batchVersion)
	dst = binary.LittleEndian.AppendUint64(dst, proposer)
	dst = binary.AppendUvarint(dst, sequence)
	dst = binary.AppendUvarint(dst, uint64(count))
	return append(dst, commands...)
}

func appendBytes(dst, b []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(b)))
	return append(dst, b...)
}
