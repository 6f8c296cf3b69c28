package shard

import "encoding/binary"

// The form of a batch in the log. All integers are little-endian or LEB128 varints.
//
//	version 1 byte, proposer 8 bytes, sequence varint, number of commands varint, then per command:
//	level 1 byte, length of what follows varint, kind 1 byte, fields 2 bytes (one bit for each field that is not zero), a third byte
//	of such bits where hasMore says so, the fields in the order below
//
// The level stands first, so that a command above the shard's can be passed over by builds that know nothing of what it
// says. Count and Timeout are stored plus one, so that Forever takes one byte.
//
// Version 1, which logs of before the levels have, lacks level and length: its commands are of the first level.
const (
	batchVersion       = 2
	batchWithoutLevels = 1
)

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
	hasSum
	hasTime
	hasClient
	hasBytes

	knownFields = 1<<iota - 1
)

// fieldNames are the names of the fields in the table of levels, by bit. More is not a field.
var fieldNames = [...]string{
	"flags", "slot", "node", "session", "number", "acked", "name", "data", "key", "count", "timeout", "order", "term",
	"sessions", "waiters", "", "revision", "sum", "time", "client", "bytes",
}

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

func appendBody(dst []byte, c *Command, fields uint32) []byte {
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
	if fields&hasSum != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, c.Sum)
	}
	if fields&hasTime != 0 {
		dst = binary.AppendUvarint(dst, c.Time)
	}
	if fields&hasClient != 0 {
		dst = appendBytes(dst, c.Client.Address)
		dst = appendBytes(dst, c.Client.Name)
		dst = appendBytes(dst, c.Client.Version)
	}
	if fields&hasBytes != 0 {
		dst = binary.AppendUvarint(dst, c.Bytes)
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
	set(hasMore|hasSum, c.Sum != 0)
	set(hasMore|hasTime, c.Time != 0)
	set(hasMore|hasClient, !c.Client.isZero())
	set(hasMore|hasBytes, c.Bytes != 0)
	return f
}
