package shard

import "encoding/binary"

// Everything that batches know of the fields of a command is in this file. A new field gets its bit, its name, and
// its place in the three functions below.
//
// The bits stand in bytes, the first eight in the first byte. The last bit of the second byte, and of each further
// byte, is no field: it says that a further byte follows. Two bits of the third byte are free for fields of frequent
// commands; fields of rare commands go into the bytes behind the third.

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
	_
	_
	hasFourth
	hasBody

	knownFields = 1<<iota - 1

	// moreBytes are the bits for "a further byte follows". There are at most eight.
	moreBytes = hasMore | hasFourth | 1<<31 | 1<<39 | 1<<47 | 1<<55
)

// fieldNames are the names of the fields in the table of levels, by bit.
var fieldNames = [...]string{
	"flags", "slot", "node", "session", "number", "acked", "name", "data", "key", "count", "timeout", "order", "term",
	"sessions", "waiters", "", "revision", "sum", "time", "client", "bytes", "", "",
	"", "body",
}

// fieldsOf returns the bits of all fields that are not zero.
func fieldsOf(c *Command) uint64 {
	var f uint64
	set := func(bit uint64, is bool) {
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
	set(hasMore|hasFourth|hasBody, len(c.Body) > 0)
	return f
}

func appendBody(dst []byte, c *Command, fields uint64) []byte {
	dst = append(dst, byte(c.Kind), byte(fields), byte(fields>>8))
	for more := fields >> 15; more&1 != 0; more >>= 8 {
		dst = append(dst, byte(more>>1))
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
	if fields&hasBody != 0 {
		dst = appendBytes(dst, c.Body)
	}
	return dst
}

// fieldBits reads the bits of the fields. A further byte of zeros is refused, because a command has exactly one form.
func (r *reader) fieldBits() uint64 {
	fields := uint64(r.byte())
	fields |= uint64(r.byte()) << 8
	for at := 16; at < 64 && fields>>(at-1)&1 != 0; at += 8 {
		bits := r.byte()
		r.must(bits != 0, "a byte of fields that says nothing")
		fields |= uint64(bits) << at
	}
	return fields
}

func (r *reader) fields(c *Command, b *Batch, fields uint64) {
	if fields&hasFlags != 0 {
		c.Flags = CommandFlags(r.byte())
	}
	if fields&hasSlot != 0 {
		c.Slot = Slot(r.byte())
		c.Slot |= Slot(r.byte()) << 8
	}
	if fields&hasNode != 0 {
		c.Node = NodeID(r.uvarint())
	}
	if fields&hasSession != 0 {
		c.Session = SessionID(r.uint64())
	}
	if fields&hasNumber != 0 {
		c.Number = r.uvarint()
	}
	if fields&hasAcked != 0 {
		c.Acked = r.uvarint()
	}
	if fields&hasName != 0 {
		c.Name = r.bytes()
	}
	if fields&hasData != 0 {
		c.Data = r.bytes()
	}
	if fields&hasKey != 0 {
		c.Key = r.bytes()
	}
	if fields&hasCount != 0 {
		c.Count = r.uvarint() - 1
	}
	if fields&hasTimeout != 0 {
		c.Timeout = r.uvarint() - 1
	}
	if fields&hasOrder != 0 {
		c.Order = OrderID(r.uvarint())
	}
	if fields&hasTerm != 0 {
		c.Term = r.uvarint()
	}
	if fields&hasSessions != 0 {
		c.Sessions = r.sessions(b)
	}
	if fields&hasWaiters != 0 {
		c.Waiters = r.waiters(b)
	}
	if fields&hasRevision != 0 {
		c.Revision = Revision(r.uvarint())
	}
	if fields&hasSum != 0 {
		c.Sum = r.uint64()
	}
	if fields&hasTime != 0 {
		c.Time = r.uvarint()
	}
	if fields&hasClient != 0 {
		c.Client = ClientRef{Address: r.bytes(), Name: r.bytes(), Version: r.bytes()}
	}
	if fields&hasBytes != 0 {
		c.Bytes = r.uvarint()
	}
	if fields&hasBody != 0 {
		c.Body = r.bytes()
		r.must(len(c.Body) > 0, "a body without bytes")
	}
}

func (r *reader) sessions(b *Batch) []SessionID {
	n := r.uvarint()
	if !r.must(n <= uint64(len(r.data))/8, "more sessions than it has bytes") {
		return nil
	}
	from := len(b.sessions)
	for range n {
		b.sessions = append(b.sessions, SessionID(r.uint64()))
	}
	return b.sessions[from:len(b.sessions):len(b.sessions)]
}

// waiterMin is the fewest bytes of one waiter in a list.
const waiterMin = 1 + 1 + 8 + 1 + 1

func (r *reader) waiters(b *Batch) []WaiterRef {
	n := r.uvarint()
	if !r.must(n <= uint64(len(r.data))/waiterMin, "more waiters than it has bytes") {
		return nil
	}
	from := len(b.waiters)
	for range n {
		b.waiters = append(b.waiters, WaiterRef{
			Node: NodeID(r.uvarint()), Name: r.bytes(), Session: SessionID(r.uint64()),
			Order: OrderID(r.uvarint()), Number: r.uvarint(),
		})
	}
	return b.waiters[from:len(b.waiters):len(b.waiters)]
}
