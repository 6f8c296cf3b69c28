package meta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// ErrBatch is wrapped by every error of encoding or decoding a batch.
var ErrBatch = errors.New("meta: bad batch")

// batchVersion is the version of the form below. A host decodes the version and all earlier versions.
//
//	version   1 byte
//	proposer  8 bytes, little endian
//	sequence  8 bytes, little endian
//	count     varint
//	flags     1 byte
//	stamp     term varint, elapsed varint, with bit 0 of the flags
//	commands  count times: level (1 byte), length (varint), body
//
// A body is the kind (1 byte), the common part of all kinds (Numbered.fields), and the fields of the kind, in the order
// of Command.fields.
const (
	batchVersion = 1

	// batchStamped is the flag of a batch with a stamp.
	batchStamped = 1
)

// ErrNewer is wrapped if a command at or below the level has a part that the build does not know, or raises the level
// above the newest level of the build: the replica must not go on then.
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
	if b.Stamp.Term == 0 {
		out = append(out, 0)
	} else {
		out = append(out, batchStamped)
		out = binary.AppendUvarint(out, b.Stamp.Term)
		out = binary.AppendUvarint(out, b.Stamp.Elapsed)
	}
	var body []byte
	for i := range b.Commands {
		c := &b.Commands[i]
		of := max(c.Level, LevelOf(c))
		body = appended(append(body[:0], byte(c.Kind)), func(f *coder) { _ = c.Numbered.fields(f) })
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

// DecodeBatch decodes into b, for a machine at a level, and reuses the memory of b. Commands above the level are
// passed over: only their Level is set. The result shares nothing with src. An error is an ErrBatch with the offence;
// b is empty then.
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
	r := fieldReader{src: src}
	version := r.octet("version")
	switch {
	case r.err != nil:
	case version > batchVersion:
		return fmt.Errorf("version %d; this host knows version %d: %w", version, batchVersion, ErrNewer)
	case version < batchVersion:
		return fmt.Errorf("version %d; this host knows %d and later", version, batchVersion)
	}
	b.Proposer = r.fixed64("proposer")
	b.Sequence = r.fixed64("sequence")
	count := r.count("count")
	if count > shard.MaxBatch {
		return fmt.Errorf("%d commands; at most %d are allowed", count, shard.MaxBatch)
	}
	var err error
	if b.Stamp, err = readStamp(&r); err != nil {
		return err
	}
	for i := range count {
		c, err := r.command(at)
		if err != nil {
			return fmt.Errorf("command %d: %w", i, err)
		}
		b.Commands = append(b.Commands, c)
	}
	return r.end()
}

// readStamp reads the flags of a batch, and the stamp if the flags announce one.
func readStamp(r *fieldReader) (s clock.Stamp, err error) {
	flags := r.octet("flags")
	switch {
	case flags&^batchStamped != 0:
		return s, fmt.Errorf("the flags %#x: %w", flags, ErrNewer)
	case flags&batchStamped == 0:
		return s, nil
	}
	s = clock.Stamp{Term: r.number("term"), Elapsed: r.number("elapsed")}
	if r.err == nil && s.Term == 0 {
		return s, errors.New("a stamp of term 0")
	}
	return s, nil
}

// command reads one command of a batch.
func (r *fieldReader) command(at level.Level) (c Command, err error) {
	of := level.Level(r.octet("level"))
	body := fieldReader{src: r.bytes("body")}
	switch {
	case r.err != nil:
		return c, r.err
	case of == 0:
		return c, errors.New("level 0")
	case of > at:
		return Command{Level: of}, nil
	}
	kind := CommandKind(body.octet("kind"))
	if body.err != nil {
		return c, body.err
	}
	if commandLevel(kind) > level.Newest {
		return c, fmt.Errorf("unknown kind %d at level %d: %w", kind, of, ErrNewer)
	}
	var n Numbered
	if err = n.fields(&coder{from: &body}); err != nil {
		return c, fmt.Errorf("%v at level %d: %w", kind, of, err)
	}
	if requests[kind] == nil {
		c.Kind = kind
		c.fields(&coder{from: &body})
	} else if c, err = readRequest(kind, body.src); err != nil {
		return c, err
	} else {
		body.src = nil
	}
	c.Level, c.Numbered = of, n
	switch err := body.end(); {
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

// appendCommand appends the fields of a command.
func appendCommand(dst []byte, c *Command) ([]byte, error) {
	f := coder{dst: dst}
	if c.fields(&f) {
		return f.dst, nil
	}
	return appendRequest(dst, c)
}

// fields codes the fields of the command's kind, and reports whether the kind is of a command without a Request.
func (c *Command) fields(f *coder) bool {
	switch c.Kind {
	case CmdNodeCreate:
		f.text("path", &c.Path)
		c.Config.fields(f)
	case CmdNodeAlter:
		f.text("path", &c.Path)
		codeNumber(f, "node", &c.Node)
		c.Config.fields(f)
		codeNumber(f, "expected version", &c.Expected)
	case CmdNodeDrop:
		f.text("path", &c.Path)
		codeNumber(f, "node", &c.Node)
	case CmdGraceConfirmed:
		codeNumber(f, "node", &c.Node)
		codeNumber(f, "config version", &c.Expected)
	case CmdNodeCleared:
		codeNumber(f, "node", &c.Node)
		codeNumber(f, "shard", &c.Shard)
	case CmdHostRegister:
		c.Host.registered(f)
		codeOctet(f, "level", &c.Host.Level)
	case CmdHostSeen:
		codeNumber(f, "host id", &c.Host.ID)
		codeNumber(f, "version", &c.Expected)
	case CmdClusterLevel:
		codeOctet(f, "level", &c.Raise)
	case CmdDigestTake:
		codeNumber(f, "digest", &c.Digest)
	case CmdDigestCompare:
		codeNumber(f, "digest", &c.Digest)
		f.fixed64("sum", &c.Sum)
	case CmdLead:
		codeNumber(f, "term", &c.Term)
	case CmdRoutingInit:
		f.text("cluster", &c.Cluster)
		codeNumbers(f, "shards", &c.Shards)
	case CmdSlotsAssign:
		codeSlot(f, "first slot", &c.First)
		codeSlot(f, "last slot", &c.Last)
		codeNumber(f, "from", &c.From)
		codeNumber(f, "to", &c.To)
		codeNumber(f, "expected version", &c.Expected)
	default:
		return false
	}
	return true
}
