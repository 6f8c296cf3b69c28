package shard

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// ErrNewerFormat is wrapped by errors about logs and snapshots from a newer version.
var ErrNewerFormat = errors.New("written by a newer version of Signalbox")

// ErrBadBatch is wrapped by errors about bytes that are not a batch.
var ErrBadBatch = errors.New("not a command batch")

// DecodeBatch decodes a batch into b, for a shard at a level, and reuses b's memory. Texts and bytes in the commands
// are views into data. Commands above the level are skipped: only their Level is set. After an error b holds no
// commands. The error is an ErrNewerFormat if a command at or below the level has a kind, a field or a flag unknown to
// this build, or raises the level above the build's newest level: the replica must then stop.
func DecodeBatch(data []byte, b *Batch, at level.Level) error {
	b.Commands = b.Commands[:0]
	if b.sessions = b.sessions[:0]; cap(b.sessions) > 2*MaxList { // a burst's memory
		b.sessions = nil
	}
	r := reader{Input: codec.Input{Data: data}}
	version := r.Byte()
	if r.Sound() && version > batchVersion {
		return fmt.Errorf("shard: batch format %d, known up to %d: %w", version, batchVersion, ErrNewerFormat)
	}
	r.Must(version == batchVersion, "format 0")
	b.Proposer = r.Uint64()
	b.Sequence = r.Number()
	n := r.Number()
	r.Must(n <= MaxBatch && n <= uint64(len(r.Data)), "more commands than it has bytes or may have")
	b.Stamp = clock.Stamp{}
	flags := r.Byte()
	r.known(flags&^batchStamped == 0, "a batch with the flags %#x", uint64(flags))
	if flags&batchStamped != 0 {
		b.Stamp = clock.Stamp{Term: r.Number(), Elapsed: r.Number()}
		r.Must(b.Stamp.Term != 0, "a stamp with term 0")
	}
	for i := 0; uint64(i) < n && r.Sound() && r.newer == ""; i++ {
		if i == cap(b.Commands) {
			b.Commands = append(b.Commands, Command{})
		} else { // in place: an append would copy the empty command
			b.Commands = b.Commands[:i+1]
			b.Commands[i] = Command{}
		}
		r.command(b, i, at)
	}
	r.Must(len(r.Data) == 0, "bytes behind the last command")
	if r.Sound() && r.newer == "" {
		return nil
	}
	last := max(len(b.Commands)-1, 0)
	b.Commands = b.Commands[:0]
	if r.newer != "" {
		return fmt.Errorf("shard: command %d: %s: %w", last, r.newer, ErrNewerFormat)
	}
	return fmt.Errorf("shard: %s in command %d: %w", r.Bad(), last, ErrBadBatch)
}

// command reads the command with index i. The level and the length of the command precede it.
func (r *reader) command(b *Batch, i int, at level.Level) {
	c := &b.Commands[i]
	c.Level = level.Level(r.Byte())
	body := r.Bytes()
	r.Must(c.Level != 0, "level 0")
	if !r.Sound() || c.Level > at {
		return
	}
	rest := r.Data
	r.Data = body
	c.Kind = CommandKind(r.Byte())
	r.Must(c.Kind != 0, "kind 0")
	r.known(LevelOf(c) <= level.Newest, "a command with kind %d", uint64(c.Kind))
	fields := uint64(r.Byte())
	fields |= uint64(r.Byte()) << 8
	for next := 16; next < 64 && fields>>(next-1)&1 != 0; next += 8 {
		bits := r.Byte()
		r.Must(bits != 0, "an empty field byte") // because a command has exactly one encoding
		fields |= uint64(bits) << next
	}
	r.known(fields&^knownFields == 0, "fields %#x", fields&^knownFields)
	if !r.Sound() || r.newer != "" {
		return
	}
	r.fields(c, b, fields)
	if !r.Sound() {
		return
	}
	r.known(c.Flags&^knownFlags == 0, "flags %#x", uint64(c.Flags&^knownFlags))
	if r.newer == "" {
		r.Must(LevelOf(c) <= c.Level, "a field or flag above the declared level")
	}
	r.known(c.Kind != CmdLevel || c.Count <= uint64(level.Newest), "a rise in the shard's level to %d", c.Count)
	r.Must(len(r.Data) == 0, "bytes behind the last field")
	r.Data = rest
}

// known notes that this build does not know part of a command at or below the shard's level.
func (r *reader) known(ok bool, format string, what uint64) {
	if !ok && r.Sound() && r.newer == "" {
		r.newer = fmt.Sprintf(format, what) +
			fmt.Sprintf(", which this build, that can follow up to level %d, does not know", level.Newest)
		r.Data = nil
	}
}

// reader decodes a batch from the front of a byte slice. After a value from a newer build the field newer has the
// error, and the reader returns zeros, as after the first error.
type reader struct {
	codec.Input
	newer string
}
