package meta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// ErrBatch is wrapped by every batch encoding or decoding error.
var ErrBatch = errors.New("meta: bad batch")

// batchVersion is the encoding version below. A host decodes this version and all earlier versions.
//
//	version   1 byte
//	proposer  8 bytes, little endian
//	sequence  8 bytes, little endian
//	count     varint
//	stamp     term varint, and unless the term is 0, elapsed varint
//	commands  count times: level (1 byte), length (varint), body
//
// A body is the kind (1 byte), the part common to all kinds (Numbered.fields), and the kind's fields, in the order of
// Command.fields.
const batchVersion = 1

// ErrNewer is wrapped if a command at or below the level has a part unknown to this build, or raises the level above
// the build's newest level: the replica must then stop.
var ErrNewer = fmt.Errorf("a newer host proposed it: %w", shard.ErrNewerFormat)

// AppendBatch appends the encoded batch to dst.
func AppendBatch(dst []byte, b *Batch) ([]byte, error) {
	if len(b.Commands) > shard.MaxBatch {
		return dst, fmt.Errorf("%w: %d commands; at most %d are allowed", ErrBatch, len(b.Commands), shard.MaxBatch)
	}
	start := len(dst)
	out := append(dst, batchVersion)
	out = binary.LittleEndian.AppendUint64(out, b.Proposer)
	out = binary.LittleEndian.AppendUint64(out, b.Sequence)
	out = binary.AppendUvarint(out, uint64(len(b.Commands)))
	if out = binary.AppendUvarint(out, b.Stamp.Term); b.Stamp.Term != 0 {
		out = binary.AppendUvarint(out, b.Stamp.Elapsed)
	}
	var body []byte
	for i := range b.Commands {
		c := &b.Commands[i]
		of := max(c.Level, LevelOf(c))
		body = codec.Save(append(body[:0], byte(c.Kind)), func(f *codec.Coder) { _ = c.Numbered.fields(f) })
		var err error
		if body, err = appendCommand(body, c); err != nil {
			return dst, fmt.Errorf("%w: command %d: %w", ErrBatch, i, err)
		}
		out = append(out, byte(of))
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
		if size := len(out) - start; size > shard.MaxBatchBytes {
			return dst, fmt.Errorf("%w: more than %d bytes with command %d of %d",
				ErrBatch, shard.MaxBatchBytes, i, len(b.Commands))
		}
	}
	return out, nil
}

// DecodeBatch decodes into b, for a machine at a level, and reuses b's memory. It skips commands above the level: only
// their Level is set. The result shares nothing with src. Errors wrap ErrBatch and describe the problem; b is then
// empty.
func DecodeBatch(src []byte, b *Batch, at level.Level) error {
	clear(b.Commands)
	*b = Batch{Commands: b.Commands[:0]}
	err := decodeBatch(src, b, at)
	if err == nil {
		return nil
	}
	*b = Batch{Commands: b.Commands[:0]}
	return fmt.Errorf("%w of %d bytes: %w", ErrBatch, len(src), err)
}

func decodeBatch(src []byte, b *Batch, at level.Level) error {
	if len(src) > shard.MaxBatchBytes {
		return fmt.Errorf("at most %d bytes are allowed", shard.MaxBatchBytes)
	}
	r := codec.Input{Data: src}
	version := r.Byte()
	switch {
	case !r.Sound():
	case version > batchVersion:
		return fmt.Errorf("version %d; this host knows version %d: %w", version, batchVersion, ErrNewer)
	case version < batchVersion:
		return fmt.Errorf("version %d; this host knows %d and later", version, batchVersion)
	}
	b.Proposer = r.Uint64()
	b.Sequence = r.Uint64()
	count := r.Count(1, "more commands than it has bytes")
	if count > shard.MaxBatch {
		return fmt.Errorf("%d commands; at most %d are allowed", count, shard.MaxBatch)
	}
	if b.Stamp.Term = r.Number(); b.Stamp.Term != 0 {
		b.Stamp.Elapsed = r.Number()
	}
	for i := range count {
		c, err := readCommand(&r, at)
		if err != nil {
			return fmt.Errorf("command %d: %w", i, err)
		}
		b.Commands = append(b.Commands, c)
	}
	r.End()
	return r.Err()
}

// readCommand reads one command.
func readCommand(r *codec.Input, at level.Level) (c Command, err error) {
	of := level.Level(r.Byte())
	body := codec.Reader(r.Bytes())
	switch {
	case !r.Sound():
		return c, r.Err()
	case of == 0:
		return c, errors.New("level 0")
	case of > at:
		return Command{Level: of}, nil
	}
	var kind CommandKind
	if codec.Byte(body, &kind); !body.Sound() {
		return c, body.Err()
	}
	if commandLevel(kind) > level.Newest {
		return c, fmt.Errorf("unknown kind %d at level %d: %w", kind, of, ErrNewer)
	}
	var n Numbered
	if err = n.fields(body); err != nil {
		return c, fmt.Errorf("%v at level %d: %w", kind, of, err)
	}
	if requests[kind] == nil {
		c.Kind = kind
		c.fields(body)
	} else if c, err = readRequest(kind, body.Input().Data); err != nil {
		return c, err
	} else {
		body.Input().Data = nil
	}
	c.Level, c.Numbered = of, n
	body.Input().End()
	switch err := body.Err(); {
	case err != nil:
		return c, fmt.Errorf("%v: %w", kind, err)
	case LevelOf(&c) > of:
		return c, fmt.Errorf("%v: it is of level %d and says %d", kind, LevelOf(&c), of)
	case c.Raise > level.Newest:
		return c, fmt.Errorf("a rise of the cluster's level to %d, and this build can follow up to level %d: %w",
			c.Raise, level.Newest, ErrNewer)
	}
	return c, nil
}

// appendCommand appends a command's fields.
func appendCommand(dst []byte, c *Command) ([]byte, error) {
	f := codec.Writer(dst)
	if c.fields(f) {
		return f.Data(), nil
	}
	return appendRequest(dst, c)
}

// fields encodes or decodes the fields for the command's kind, and reports whether commands of that kind have no
// Request.
func (c *Command) fields(f *codec.Coder) bool {
	switch c.Kind {
	case CmdNodeCreate:
		f.Text(&c.Path, anyLength)
		c.Config.fields(f)
	case CmdNodeAlter:
		f.Text(&c.Path, anyLength)
		codec.Uint(f, &c.Node)
		c.Config.fields(f)
		codec.Uint(f, &c.Expected)
	case CmdNodeDrop:
		f.Text(&c.Path, anyLength)
		codec.Uint(f, &c.Node)
	case CmdGraceConfirmed:
		codec.Uint(f, &c.Node)
		codec.Uint(f, &c.Expected)
	case CmdNodeCleared:
		codec.Uint(f, &c.Node)
		codec.Uint(f, &c.Shard)
	case CmdHostRegister:
		c.Host.registered(f)
		codec.Byte(f, &c.Host.Level)
	case CmdHostObservation:
		codec.Uint(f, &c.Host.ID)
		codec.Uint(f, &c.Expected)
	case CmdClusterLevel:
		codec.Byte(f, &c.Raise)
	case CmdDigestTake:
		codec.Uint(f, &c.Digest)
	case CmdDigestCompare:
		codec.Uint(f, &c.Digest)
		f.Uint64(&c.Sum)
	case CmdLead:
		codec.Uint(f, &c.Term)
	case CmdRoutingInit:
		f.Text(&c.Cluster, anyLength)
		codec.Uints(f, &c.Shards, anyLength)
	default:
		return false
	}
	return true
}
