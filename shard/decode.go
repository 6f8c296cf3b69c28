package shard

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrNewerFormat is wrapped by errors about logs and snapshots that a newer version wrote.
var ErrNewerFormat = errors.New("written by a newer version of Signalbox")

// ErrBadBatch is wrapped by errors about bytes that are no batch.
var ErrBadBatch = errors.New("not a batch of commands")

// waiterMin is the fewest bytes that one waiter of a list takes.
const waiterMin = 1 + 1 + 8 + 1 + 1

// DecodeBatch reads a batch into b, whose memory is used again. What it reads are views into data.
// After an error b holds no commands.
func DecodeBatch(data []byte, b *Batch) error {
	b.Commands = b.Commands[:0]
	b.sessions, b.waiters = b.sessions[:0], b.waiters[:0]
	r := reader{data: data}
	version := r.byte()
	if r.bad == "" && version > batchVersion {
		return fmt.Errorf("shard: batch of format %d, known up to %d: %w", version, batchVersion, ErrNewerFormat)
	}
	r.must(version != 0, "format 0")
	b.Proposer = r.uint64()
	b.Sequence = r.uvarint()
	n := r.uvarint()
	r.must(n <= MaxBatch && n <= uint64(len(r.data)), "more commands than it has bytes or may have")
	for i := uint64(0); i < n && r.bad == ""; i++ {
		b.Commands = append(b.Commands, Command{})
		r.command(&b.Commands[len(b.Commands)-1], b)
	}
	r.must(len(r.data) == 0, "bytes behind the last command")
	if r.bad != "" {
		err := fmt.Errorf("shard: %s in command %d: %w", r.bad, max(len(b.Commands)-1, 0), ErrBadBatch)
		b.Commands = b.Commands[:0]
		return err
	}
	return nil
}

func (r *reader) command(c *Command, b *Batch) {
	c.Kind = CommandKind(r.byte())
	fields := uint32(r.byte())
	fields |= uint32(r.byte()) << 8
	if fields&hasMore != 0 {
		fields |= uint32(r.byte()) << 16
	}
	r.must(c.Kind != 0, "kind 0")
	r.must(fields&^knownFields == 0, "a field of a newer format")
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

// reader takes values off the front of some bytes. After the first thing that is wrong, which bad
// then names, it gives zeros.
type reader struct {
	data []byte
	bad  string
}

func (r *reader) must(ok bool, otherwise string) bool {
	if !ok && r.bad == "" {
		r.bad = otherwise
		r.data = nil
	}
	return r.bad == ""
}

func (r *reader) byte() byte {
	if !r.must(len(r.data) >= 1, "cut short") {
		return 0
	}
	v := r.data[0]
	r.data = r.data[1:]
	return v
}

func (r *reader) uint64() uint64 {
	if !r.must(len(r.data) >= 8, "cut short") {
		return 0
	}
	v := binary.LittleEndian.Uint64(r.data)
	r.data = r.data[8:]
	return v
}

func (r *reader) uvarint() uint64 {
	if len(r.data) > 0 && r.data[0] < 0x80 {
		v := uint64(r.data[0])
		r.data = r.data[1:]
		return v
	}
	v, n := binary.Uvarint(r.data)
	if !r.must(n > 0, "cut short or an overlong number") {
		return 0
	}
	r.data = r.data[n:]
	return v
}

func (r *reader) bytes() []byte {
	n := r.uvarint()
	if !r.must(n <= uint64(len(r.data)), "a length beyond its bytes") {
		return nil
	}
	v := r.data[:n:n]
	r.data = r.data[n:]
	return v
}
