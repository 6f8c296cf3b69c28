// Code generated from the struct Command by: go test ./test/tidy -run Command -update. DO NOT EDIT.

package shard

import (
	"encoding/binary"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// fieldsOf returns the bits of all fields that are not zero.
func fieldsOf(c *Command) (f uint64) {
	if c.Flags != 0 {
		f |= hasFlags
	}
	if c.Slot != 0 {
		f |= hasSlot
	}
	if c.Node != 0 {
		f |= hasNode
	}
	if c.Session != 0 {
		f |= hasSession
	}
	if c.Number != 0 {
		f |= hasNumber
	}
	if c.Acked != 0 {
		f |= hasAcked
	}
	if len(c.Name) > 0 {
		f |= hasName
	}
	if len(c.Data) > 0 {
		f |= hasData
	}
	if len(c.Key) > 0 {
		f |= hasKey
	}
	if c.Count != 0 {
		f |= hasCount
	}
	if c.Timeout != 0 {
		f |= hasTimeout
	}
	if c.Order != 0 {
		f |= hasOrder
	}
	if c.Term != 0 {
		f |= hasTerm
	}
	if len(c.Sessions) > 0 {
		f |= hasSessions
	}
	if c.Revision != 0 {
		f |= hasRevision | hasMore
	}
	if c.Sum != 0 {
		f |= hasSum | hasMore
	}
	if c.Time != 0 {
		f |= hasTime | hasMore
	}
	if len(c.Client.Address)+len(c.Client.Name)+len(c.Client.Version) > 0 {
		f |= hasClient | hasMore
	}
	if c.Bytes != 0 {
		f |= hasBytes | hasMore
	}
	if len(c.Body) > 0 {
		f |= hasBody | hasMore | hasFourth
	}
	return f
}

// appendFields appends the fields with the bits.
func appendFields(dst []byte, c *Command, fields uint64) []byte {
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
		dst = binary.AppendUvarint(dst, uint64(c.Number))
	}
	if fields&hasAcked != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Acked))
	}
	if fields&hasName != 0 {
		dst = codec.AppendBytes(dst, c.Name)
	}
	if fields&hasData != 0 {
		dst = codec.AppendBytes(dst, c.Data)
	}
	if fields&hasKey != 0 {
		dst = codec.AppendBytes(dst, c.Key)
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
		dst = binary.AppendUvarint(dst, uint64(c.Term))
	}
	if fields&hasSessions != 0 {
		dst = appendSessions(dst, c.Sessions)
	}
	if fields&hasRevision != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Revision))
	}
	if fields&hasSum != 0 {
		dst = binary.LittleEndian.AppendUint64(dst, uint64(c.Sum))
	}
	if fields&hasTime != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Time))
	}
	if fields&hasClient != 0 {
		dst = appendClient(dst, c.Client)
	}
	if fields&hasBytes != 0 {
		dst = binary.AppendUvarint(dst, uint64(c.Bytes))
	}
	if fields&hasBody != 0 {
		dst = codec.AppendBytes(dst, c.Body)
	}
	return dst
}

// fields reads the fields with the bits.
func (r *reader) fields(c *Command, b *Batch, fields uint64) {
	if fields&hasFlags != 0 {
		c.Flags = CommandFlags(r.Byte())
	}
	if fields&hasSlot != 0 {
		c.Slot = Slot(r.Uint16())
	}
	if fields&hasNode != 0 {
		c.Node = NodeID(r.Number())
	}
	if fields&hasSession != 0 {
		c.Session = SessionID(r.Uint64())
	}
	if fields&hasNumber != 0 {
		c.Number = r.Number()
	}
	if fields&hasAcked != 0 {
		c.Acked = r.Number()
	}
	if fields&hasName != 0 {
		c.Name = r.Bytes()
	}
	if fields&hasData != 0 {
		c.Data = r.Bytes()
	}
	if fields&hasKey != 0 {
		c.Key = r.Bytes()
	}
	if fields&hasCount != 0 {
		c.Count = r.Number() - 1
	}
	if fields&hasTimeout != 0 {
		c.Timeout = r.Number() - 1
	}
	if fields&hasOrder != 0 {
		c.Order = OrderID(r.Number())
	}
	if fields&hasTerm != 0 {
		c.Term = r.Number()
	}
	if fields&hasSessions != 0 {
		c.Sessions = r.sessions(b)
	}
	if fields&hasRevision != 0 {
		c.Revision = Revision(r.Number())
	}
	if fields&hasSum != 0 {
		c.Sum = r.Uint64()
	}
	if fields&hasTime != 0 {
		c.Time = r.Number()
	}
	if fields&hasClient != 0 {
		c.Client = r.client(b)
	}
	if fields&hasBytes != 0 {
		c.Bytes = r.Number()
	}
	if fields&hasBody != 0 {
		c.Body = r.filled()
	}
}
