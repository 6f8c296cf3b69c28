package shard

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
)

// ErrNewerFormat is wrapped by errors about logs and snapshots of a newer version.
var ErrNewerFormat = errors.New("written by a newer version of Signalbox")

// ErrBadBatch is wrapped by errors about bytes that are no batch.
var ErrBadBatch = errors.New("not a batch of commands")

// DecodeBatch reads a batch into b, for a shard at a level, and reuses the memory of b. Texts and bytes of the
// commands are views into data. Commands above the level are passed over: only their Level is set. After an error b
// holds no commands. The error is an ErrNewerFormat if a command at or below the level has a kind, a field or a flag
// that the build does not know, or raises the level above the newest level of the build: the replica must not go on
// then.
func DecodeBatch(data []byte, b *Batch, at level.Level) error {
	b.Commands = b.Commands[:0]
	b.sessions, b.waiters = b.sessions[:0], b.waiters[:0]
	if cap(b.sessions) > 2*MaxList || cap(b.waiters) > 2*MaxList { // the memory of a burst
		b.sessions, b.waiters = nil, nil
	}
	r := reader{data: data}
	version := r.byte()
	if r.bad == "" && version > batchVersion {
		return fmt.Errorf("shard: batch of format %d, known up to %d: %w", version, batchVersion, ErrNewerFormat)
	}
	r.must(version == batchVersion, "format 0")
	b.Proposer = r.uint64()
	b.Sequence = r.uvarint()
	n := r.uvarint()
	r.must(n <= MaxBatch && n <= uint64(len(r.data)), "more commands than it has bytes or may have")
	b.Stamp = clock.Stamp{}
	flags := r.byte()
	r.known(flags&^batchStamped == 0, "a batch with the flags %#x", uint64(flags))
	if flags&batchStamped != 0 {
		b.Stamp = clock.Stamp{Term: r.uvarint(), Elapsed: r.uvarint()}
		r.must(b.Stamp.Term != 0, "a stamp of term 0")
	}
	for i := 0; uint64(i) < n && r.bad == "" && r.newer == ""; i++ {
		if i == cap(b.Commands) {
			b.Commands = append(b.Commands, Command{})
		} else { // in place: an append would copy the empty command
			b.Commands = b.Commands[:i+1]
			b.Commands[i] = Command{}
		}
		r.command(b, i, at)
	}
	r.must(len(r.data) == 0, "bytes behind the last command")
	if r.bad == "" && r.newer == "" {
		return nil
	}
	last := max(len(b.Commands)-1, 0)
	b.Commands = b.Commands[:0]
	if r.newer != "" {
		return fmt.Errorf("shard: command %d: %s: %w", last, r.newer, ErrNewerFormat)
	}
	return fmt.Errorf("shard: %s in command %d: %w", r.bad, last, ErrBadBatch)
}

// command reads the command with index i. The level and the length of the command precede it.
func (r *reader) command(b *Batch, i int, at level.Level) {
	c := &b.Commands[i]
	c.Level = level.Level(r.byte())
	body := r.bytes()
	r.must(c.Level != 0, "level 0")
	if r.bad != "" || c.Level > at {
		return
	}
	rest := r.data
	r.data = body
	c.Kind = CommandKind(r.byte())
	r.must(c.Kind != 0, "kind 0")
	r.known(commandLevels[c.Kind] <= level.Newest, "a command of kind %d", uint64(c.Kind))
	fields := uint64(r.byte())
	fields |= uint64(r.byte()) << 8
	for next := 16; next < 64 && fields>>(next-1)&1 != 0; next += 8 {
		bits := r.byte()
		r.must(bits != 0, "a byte of fields that says nothing") // because a command has exactly one form
		fields |= uint64(bits) << next
	}
	r.known(fields&^knownFields == 0, "fields %#x", fields&^knownFields)
	if r.bad != "" || r.newer != "" {
		return
	}
	r.fields(c, b, fields)
	if r.bad != "" {
		return
	}
	r.known(c.Flags&^knownFlags == 0, "flags %#x", uint64(c.Flags&^knownFlags))
	if r.newer == "" {
		r.must(LevelOf(c) <= c.Level, "something of a higher level than it says")
	}
	r.known(c.Kind != CmdLevel || c.Count <= uint64(level.Newest), "a rise of the shard's level to %d", c.Count)
	r.must(len(r.data) == 0, "bytes behind the last field")
	r.data = rest
}

// known notes that the build does not know a part of a command at or below the shard's level.
func (r *reader) known(ok bool, format string, what uint64) {
	if !ok && r.bad == "" && r.newer == "" {
		r.newer = fmt.Sprintf(format, what) +
			fmt.Sprintf(", which this build, that can follow up to level %d, does not know", level.Newest)
		r.data = nil
	}
}

// reader takes values off the front of some bytes. After the first wrong value the field bad has the reason, and
// after the first value of a newer build the field newer has it; from then on the reader returns zeros.
type reader struct {
	data  []byte
	bad   string
	newer string
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

func (r *reader) uint16() uint16 {
	low := r.byte()
	return uint16(low) | uint16(r.byte())<<8
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
