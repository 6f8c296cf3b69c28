package logdb

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// kindChange is the only record kind: a change to a replica.
const kindChange wal.Kind = 1

// change is the content of one record, in field order. A nil or empty field leaves the replica's field unchanged.
type change struct {
	cleared   bool   // everything older for the replica is gone
	bootstrap []byte // encoded
	state     pb.State
	snapshot  []byte // encoded
	// installed is set if the snapshot came from another host, so the log begins after the snapshot.
	installed bool
	// entries are contiguous. They replace all entries from their first index on.
	entries []pb.Entry
	// rewritten is set if the entries were written before. They coexist with the entries written since.
	rewritten bool
}

const (
	hasBootstrap = 1 << iota
	hasState
	hasSnapshot
	hasEntries
	isCleared
	isInstalled
	isRewritten
	isUnknown
)

// A change is: flags (1 byte); bootstrap: length, bytes; state: term, vote, commit; snapshot: length, bytes; entries:
// index of the first, number, and for each entry length and bytes. All numbers are varints.

// appendTo encodes a change.
func (c *change) appendTo(b []byte) []byte {
	flags := byte(0)
	start := len(b)
	b = append(b, flags)
	if c.bootstrap != nil {
		flags |= hasBootstrap
		b = appendBytes(b, c.bootstrap)
	}
	if !pb.IsEmptyState(c.state) {
		flags |= hasState
		for _, v := range []uint64{c.state.Term, c.state.Vote, c.state.Commit} {
			b = binary.AppendUvarint(b, v)
		}
	}
	if c.snapshot != nil {
		flags |= hasSnapshot
		b = appendBytes(b, c.snapshot)
	}
	if len(c.entries) > 0 {
		flags |= hasEntries
		b = binary.AppendUvarint(b, c.entries[0].Index)
		b = binary.AppendUvarint(b, uint64(len(c.entries)))
	}
	for i := range c.entries {
		e := &c.entries[i]
		size := e.Size()
		b = slices.Grow(binary.AppendUvarint(b, uint64(size)), size)
		n, _ := e.MarshalTo(b[len(b) : len(b)+size]) // MarshalTo never fails
		b = b[:len(b)+n]
	}
	if c.cleared {
		flags |= isCleared
	}
	if c.installed {
		flags |= isInstalled
	}
	if c.rewritten {
		flags |= isRewritten
	}
	b[start] = flags
	return b
}

func appendBytes(b, value []byte) []byte {
	return append(binary.AppendUvarint(b, uint64(len(value))), value...)
}

// read is a change decoded from a record. The entries are still encoded.
type read struct {
	change
	first, count uint64 // entry range
	encoded      []byte // the entries
}

// errForm is returned for a record with valid checksums and an unknown form: a different version wrote it.
var errForm = errors.New("logdb: a record of the log has a form that this version does not know")

// readChange decodes a record. The result's slices alias b.
func readChange(b []byte) (r read, err error) {
	f := fields{rest: b}
	flags := f.bytes(1)[0]
	r.cleared, r.installed, r.rewritten = flags&isCleared != 0, flags&isInstalled != 0, flags&isRewritten != 0
	if flags&hasBootstrap != 0 {
		r.bootstrap = f.bytes(f.varint())
	}
	if flags&hasState != 0 {
		r.state = pb.State{Term: f.varint(), Vote: f.varint(), Commit: f.varint()}
	}
	if flags&hasSnapshot != 0 {
		r.snapshot = f.bytes(f.varint())
	}
	if flags&hasEntries != 0 {
		r.first, r.count = f.varint(), f.varint()
		r.encoded, f.rest = f.rest, nil
	}
	if f.bad || len(f.rest) > 0 || flags&isUnknown != 0 || r.count > uint64(len(r.encoded)) ||
		flags&hasEntries != 0 && r.count == 0 {
		return read{}, errForm
	}
	return r, nil
}

// decode decodes the entries.
func (r *read) decode() ([]pb.Entry, error) {
	entries := make([]pb.Entry, r.count)
	f := fields{rest: r.encoded}
	for i := range entries {
		text := f.bytes(f.varint())
		if f.bad {
			return nil, errForm
		}
		if err := entries[i].Unmarshal(text); err != nil {
			return nil, fmt.Errorf("%w: %w", errForm, err)
		}
		if entries[i].Index != r.first+uint64(i) {
			return nil, errForm
		}
	}
	return entries, nil
}

// fields reads a record's fields. After a missing field the reader is bad and reads zeros.
type fields struct {
	rest []byte
	bad  bool
}

func (f *fields) bytes(n uint64) []byte {
	if f.bad || n > uint64(len(f.rest)) {
		f.bad = true
		return []byte{0}
	}
	taken := f.rest[:n:n]
	f.rest = f.rest[n:]
	return taken
}

func (f *fields) varint() uint64 {
	v, n := binary.Uvarint(f.rest)
	if f.bad || n <= 0 {
		f.bad = true
		return 0
	}
	f.rest = f.rest[n:]
	return v
}
