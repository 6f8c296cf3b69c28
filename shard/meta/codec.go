package meta

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/shard"
)

// ErrBatch is what is wrong with every batch that cannot be encoded or decoded.
var ErrBatch = errors.New("meta: bad batch")

// batchVersion is the version of the form below. A host decodes this version and all before it.
//
//	version   1 byte
//	proposer  8 bytes, little endian
//	sequence  8 bytes, little endian
//	count     varint
//	commands  count times: kind (1 byte), length (varint), body
//
// The fields of a body are those that the kind uses, in the order of appendCommand.
const batchVersion = 1

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
	var body []byte
	for i := range b.Commands {
		c := &b.Commands[i]
		var known bool
		if body, known = appendCommand(body[:0], c); !known {
			return dst, fmt.Errorf("%w: command %d: unknown kind %d", ErrBatch, i, c.Kind)
		}
		out = append(out, byte(c.Kind))
		out = binary.AppendUvarint(out, uint64(len(body)))
		out = append(out, body...)
		if size := len(out) - start; size > shard.MaxBatchBytes {
			return dst, fmt.Errorf("%w: more than %d bytes with command %d of %d",
				ErrBatch, shard.MaxBatchBytes, i, len(b.Commands))
		}
	}
	return out, nil
}

// DecodeBatch decodes into b, whose memory it uses again. The result shares nothing with src. An error
// is an ErrBatch that names the offence; b is empty then.
func DecodeBatch(src []byte, b *Batch) error {
	clear(b.Commands)
	*b = Batch{Commands: b.Commands[:0]}
	if err := decodeBatch(src, b); err != nil {
		*b = Batch{Commands: b.Commands[:0]}
		return fmt.Errorf("%w of %d bytes: %w", ErrBatch, len(src), err)
	}
	return nil
}

func decodeBatch(src []byte, b *Batch) error {
	if len(src) > shard.MaxBatchBytes {
		return fmt.Errorf("at most %d bytes are allowed", shard.MaxBatchBytes)
	}
	r := fieldReader{src: src}
	if v := r.octet("version"); r.err == nil && v != batchVersion {
		return fmt.Errorf("version %d; this host knows version %d", v, batchVersion)
	}
	b.Proposer = r.fixed64("proposer")
	b.Sequence = r.fixed64("sequence")
	count := r.count("count")
	if count > shard.MaxBatch {
		return fmt.Errorf("%d commands; at most %d are allowed", count, shard.MaxBatch)
	}
	for i := range count {
		kind := CommandKind(r.octet("kind"))
		body := fieldReader{src: r.bytes("body")}
		if r.err != nil {
			return fmt.Errorf("command %d: %w", i, r.err)
		}
		c, known := readCommand(kind, &body)
		if !known {
			return fmt.Errorf("command %d: unknown kind %d; a newer host proposed it", i, kind)
		}
		if err := body.end(); err != nil {
			return fmt.Errorf("command %d (%v): %w", i, kind, err)
		}
		b.Commands = append(b.Commands, c)
	}
	return r.end()
}

func appendCommand(dst []byte, c *Command) (body []byte, known bool) {
	switch c.Kind {
	case CmdNodeCreate:
		dst = appendText(dst, c.Path)
		dst = appendConfig(dst, c.Config)
	case CmdNodeAlter:
		dst = appendText(dst, c.Path)
		dst = binary.AppendUvarint(dst, uint64(c.Node))
		dst = appendConfig(dst, c.Config)
		dst = binary.AppendUvarint(dst, c.Expected)
	case CmdNodeDrop:
		dst = appendText(dst, c.Path)
		dst = binary.AppendUvarint(dst, uint64(c.Node))
	case CmdSettleGrace:
		dst = binary.AppendUvarint(dst, uint64(c.Node))
		dst = binary.AppendUvarint(dst, c.Expected)
	case CmdNodeCleared:
		dst = binary.AppendUvarint(dst, uint64(c.Node))
		dst = binary.AppendUvarint(dst, uint64(c.Shard))
	case CmdHostRegister:
		dst = appendHostForm(dst, &c.Host)
	case CmdHostSeen:
		dst = binary.AppendUvarint(dst, uint64(c.Host.ID))
		dst = binary.AppendUvarint(dst, c.Expected)
	case CmdRoutingInit:
		dst = appendText(dst, c.Cluster)
		dst = appendNumbers(dst, c.Shards)
	case CmdSlotsAssign:
		dst = binary.AppendUvarint(dst, uint64(c.First))
		dst = binary.AppendUvarint(dst, uint64(c.Last))
		dst = binary.AppendUvarint(dst, uint64(c.From))
		dst = binary.AppendUvarint(dst, uint64(c.To))
		dst = binary.AppendUvarint(dst, c.Expected)
	default:
		return dst, false
	}
	return dst, true
}

func readCommand(kind CommandKind, r *fieldReader) (c Command, known bool) {
	c.Kind = kind
	switch kind {
	case CmdNodeCreate:
		c.Path = r.text("path")
		c.Config = readConfig(r)
	case CmdNodeAlter:
		c.Path = r.text("path")
		c.Node = shard.NodeID(r.number("node"))
		c.Config = readConfig(r)
		c.Expected = r.number("expected version")
	case CmdNodeDrop:
		c.Path = r.text("path")
		c.Node = shard.NodeID(r.number("node"))
	case CmdSettleGrace:
		c.Node = shard.NodeID(r.number("node"))
		c.Expected = r.number("config version")
	case CmdNodeCleared:
		c.Node = shard.NodeID(r.number("node"))
		c.Shard = ShardID(r.number("shard"))
	case CmdHostRegister:
		c.Host = readHostForm(r)
	case CmdHostSeen:
		c.Host.ID = shard.HostID(r.number("host id"))
		c.Expected = r.number("version")
	case CmdRoutingInit:
		c.Cluster = r.text("cluster")
		c.Shards = numbers[ShardID](r, "shards")
	case CmdSlotsAssign:
		c.First = shard.Slot(r.upTo("first slot", maxSlotNumber))
		c.Last = shard.Slot(r.upTo("last slot", maxSlotNumber))
		c.From = ShardID(r.number("from"))
		c.To = ShardID(r.number("to"))
		c.Expected = r.number("expected version")
	default:
		return c, false
	}
	return c, true
}
