package slots

import (
	"errors"
	"fmt"
	"math"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Limits bound a slot snapshot, because a single command carries the slot snapshot. A larger slot stays in its shard.
type Limits struct {
	Bytes   int
	Records int // objects, holdings, sessions, cached responses and number entries
}

// Normal are the limits for a seal, and Large for a seal with FlagForce. Every open accepts up to Large.
var (
	Normal = Limits{Bytes: 1 << 20, Records: 30_000}
	Large  = Limits{Bytes: 8 << 20, Records: 120_000}
)

// Check returns an error with the size of content above the limits.
func (l Limits) Check(bytes, records int) error {
	if bytes > l.Bytes || records > l.Records {
		return fmt.Errorf("the slot has %d bytes and %d records, the limits are %d and %d", bytes, records, l.Bytes,
			l.Records)
	}
	return nil
}

// MaxWhy is the maximum length of a stored reason for a refusal, in bytes.
const MaxWhy = 200

// Snapshot is one slot's content, saved by the sealing shard. A Snapshot never changes. The rules read the size, the
// level and the digest; only Content interprets the bytes.
type Snapshot struct {
	// Level is the sealing shard's level, which determines the encoding of the bytes.
	Level level.Level
	// Now is the sealing shard's time at the seal. Timestamps in the content are relative to Now.
	Now uint64
	// LastOrder, LastRevision and LastSession are the sealing shard's counters. The opening shard issues no lower
	// number.
	LastOrder, LastRevision, LastSession uint64
	// Records is the number of records in the bytes.
	Records uint64
	Bytes   []byte
	// Digest covers all fields above. Sign sets it, at the seal.
	Digest uint64
}

// Sign sets the digest.
func (sn *Snapshot) Sign() { sn.Digest = sn.digest() }

// digest computes a digest over all other fields.
func (sn *Snapshot) digest() uint64 {
	var d xxhash.Digest
	d.Reset()
	_, _ = d.Write(codec.Save(nil, sn.codeHead))
	_, _ = d.Write(sn.Bytes)
	return d.Sum64()
}

// errDigest is the reason for rejecting a slot snapshot that was damaged on the way.
var errDigest = errors.New("the slot snapshot does not have its digest")

// check returns an error if a slot snapshot exceeds the Large limits, or has a wrong digest.
func (sn *Snapshot) check() error {
	if err := Large.Check(len(sn.Bytes), int(min(sn.Records, uint64(Large.Records)+1))); err != nil {
		return err
	}
	if sn.digest() != sn.Digest {
		return errDigest
	}
	return nil
}

// Moment converts a timestamp in the slot snapshot to the opening shard's time. The result is as far from now as the
// timestamp was from the seal, but one millisecond later, because the millisecond of the seal may not have been over.
// Zero means no timestamp, and stays zero. No other timestamp becomes zero.
func (sn *Snapshot) Moment(at, now uint64) uint64 {
	switch later := at + min(1, math.MaxUint64-at); {
	case at == 0:
		return 0
	case later >= sn.Now:
		return now + min(later-sn.Now, math.MaxUint64-now)
	case sn.Now-later >= now:
		return 1
	default:
		return now - (sn.Now - later)
	}
}

// Append appends the encoded slot snapshot, as it is in the body of CmdSlotOpen.
func (sn *Snapshot) Append(dst []byte) []byte { return codec.Save(dst, sn.code) }

// Parse decodes a slot snapshot. Each has exactly one encoding.
func Parse(src []byte) (*Snapshot, error) {
	sn := &Snapshot{}
	if err := codec.Load(src, formNumber, "slots: read a slot snapshot", sn.code, nil); err != nil {
		return nil, err
	}
	return sn, nil
}

func (sn *Snapshot) code(c *codec.Coder) {
	sn.codeHead(c)
	c.Bytes(&sn.Bytes, Large.Bytes)
	c.Uint64(&sn.Digest)
}

// codeHead encodes or decodes all fields before the bytes.
func (sn *Snapshot) codeHead(c *codec.Coder) {
	c.Form(formNumber)
	codec.Byte(c, &sn.Level)
	c.Numbers(&sn.Now, &sn.LastOrder, &sn.LastRevision, &sn.LastSession, &sn.Records)
}
