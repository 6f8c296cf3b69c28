package shard

import "encoding/binary"

// The form of a batch in the log. All integers are little-endian or LEB128 varints.
//
//	version 1 byte, proposer 8 bytes, sequence varint, number of commands varint, then per command:
//	kind 1 byte, fields 2 bytes (one bit for each field that is not zero), a third byte of such bits where
//	hasMore says so, the fields in the order below
//
// Count and Timeout are stored plus one, so that Forever takes one byte. A version that adds a field
// gives it the next bit; a reader refuses bits that it does not know.
const batchVersion = 1

const (
	hasFlags = 1 << iota
	hasSlot
	hasNode
	hasSession
	hasNumber
	hasAcked
	hasName
	hasData
	hasKey
	hasCount
	hasTimeout
	hasOrder
	hasTerm
	hasSessions
	hasWaiters
	hasMore
	hasRevision

	knownFields = 1<<iota - 1
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
	dst = append(dst, byte(c.Kind), byte(fields), byte(fields>>8))
	if fields&hasMore != 0 {
		dst = append(dst, byte(fields>>16))
	}
	if fields&hasFlags != 0 {
		dst = append(dst, byte(c.Flags))
	}
	if fields&hasSlot != 0 {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(c.Slot))
	}
	if fields&hasNode != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Node))
	}
	if fields&hasSession != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Session))
	}
	if fields&hasNumber != 0 {
		dst = binary.AppendUvarint(dst, c.Number)
	}
	if fields&hasAcked != 0 {
		dst = binary.AppendUvarint(dst, c.Acked)
	}
	if fields&hasName != 0 {
		dst = appendBytes(dst, c.Name)
	}
	if fields&hasData != 0 {
		dst = appendBytes(dst, c.Data)
	}
	if fields&hasKey != 0 {
		dst = appendBytes(dst, c.Key)
	}
	if fields&hasCount != 0 {
		dst = binary.AppendUvarint(dst, c.Count+1)
	}
	if fields&hasTimeout != 0 {
		dst = binary.AppendUvarint(dst, c.Timeout+1)
	}
	if fields&hasOrder != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Order))
	}
	if fields&hasTerm != 0 {
		dst = binary.AppendUvarint(dst, c.Term)
	}
	if fields&hasSessions != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(c.Sessions)))
		for _, id := range c.Sessions {
			dst = binary.LittleEndian.AppendUint64(dst, uint64(id))
		}
	}
	if fields&hasWaiters != 0 {
		dst = binary.AppendUvarint(dst, uint64(len(c.Waiters)))
		for i := range c.Waiters {
			w := &c.Waiters[i]
			dst = binary.AppendUvarint(dst, uint64(w.Node))
			dst = appendBytes(dst, w.Name)
			dst = binary.LittleEndian.AppendUint64(dst, uint64(w.Session))
			dst = binary.AppendUvarint(dst, uint64(w.Order))
			dst = binary.AppendUvarint(dst, w.Number)
		}
	}
	if fields&hasRevision != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Revision))
	}
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

func fieldsOf(c *Command) uint32 {
	var f uint32
	set := func(bit uint32, is bool) {
		if is {
			f |= bit
		}
	}
	set(hasFlags, c.Flags != 0)
	set(hasSlot, c.Slot != 0)
	set(hasNode, c.Node != 0)
	set(hasSession, c.Session != 0)
	set(hasNumber, c.Number != 0)
	set(hasAcked, c.Acked != 0)
	set(hasName, len(c.Name) > 0)
	set(hasData, len(c.Data) > 0)
	set(hasKey, len(c.Key) > 0)
	set(hasCount, c.Count != 0)
	set(hasTimeout, c.Timeout != 0)
	set(hasOrder, c.Order != 0)
	set(hasTerm, c.Term != 0)
	set(hasSessions, len(c.Sessions) > 0)
	set(hasWaiters, len(c.Waiters) > 0)
	set(hasMore|hasRevision, c.Revision != 0)
	return f
}
