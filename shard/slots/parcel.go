package slots

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Parcel bounds: a slot's content moves within one command. A larger slot stays. Session numbers have separate bounds,
// because they grow with the sessions in the whole shard.
const (
	MaxBytes       = 256 << 10
	MaxRecords     = 2000
	MaxNumbers     = 4000
	MaxNumberBytes = 64 << 10
)

// MaxWhy is how much of a refusal's reason is kept, in bytes.
const MaxWhy = 200

// Parcel is one slot's content, as packed by the sealing shard. The rules read the bounds, the level and the digest;
// only Content interprets the bytes.
type Parcel struct {
	// Level is the packing shard's level, which determines the byte encoding.
	Level level.Level
	// Now is the packing shard's time at the seal. Timestamps in the parcel are relative to Now.
	Now uint64
	// LastOrder, LastRevision and LastSession are the packing shard's counters. The opening shard issues no lower
	// number.
	LastOrder, LastRevision, LastSession uint64
	// Records is the number of objects, holdings, sessions and answers in the bytes, Sessions the number of entries in
	// the numbers.
	Records, Sessions uint64
	Bytes             []byte
	Numbers           []byte
	// Digest covers all fields above. The rules set the digest at the seal.
	Digest uint64
}

// digest computes a digest over all other fields.
func (p *Parcel) digest() uint64 {
	copied := *p
	copied.Digest = 0
	return xxhash.Sum64(codec.Save(nil, copied.code))
}

// The reasons for rejecting a parcel, whatever the bytes mean.
var (
	errDigest = errors.New("the parcel does not have its digest")
	errLarge  = errors.New("the slot holds more than one command may move")
)

// small returns an error for a parcel above the bounds.
func (p *Parcel) small() error {
	if len(p.Bytes) > MaxBytes || p.Records > MaxRecords || p.Sessions > MaxNumbers || len(p.Numbers) > MaxNumberBytes {
		return errLarge
	}
	return nil
}

// check returns an error if a parcel exceeds the bounds, or if its bytes were damaged on the way.
func (p *Parcel) check() error {
	if err := p.small(); err != nil {
		return err
	}
	if p.digest() != p.Digest {
		return errDigest
	}
	return nil
}

// Moment converts a timestamp in the parcel to the accepting shard's time: as far from now as the timestamp was from
// the seal, and one millisecond more, because a millisecond may have begun at the seal and not be over. Zero means none
// and stays zero; no timestamp becomes zero.
func (p *Parcel) Moment(at, now uint64) uint64 {
	switch later := at + 1; {
	case at == 0:
		return 0
	case later >= p.Now:
		return now + (later - p.Now)
	case p.Now-later >= now:
		return 1
	default:
		return now - (p.Now - later)
	}
}

func (p *Parcel) code(c *codec.Coder) {
	at := uint64(p.Level)
	c.Numbers(&at, &p.Now, &p.LastOrder, &p.LastRevision, &p.LastSession, &p.Records, &p.Sessions)
	c.Must(at <= 255, "the level of a parcel is %d", at)
	if c.Reading() {
		p.Level = level.Level(at)
	}
	c.Bytes(&p.Bytes, MaxBytes)
	c.Bytes(&p.Numbers, MaxNumberBytes)
	var sum [8]byte
	binary.LittleEndian.PutUint64(sum[:], p.Digest)
	c.Fixed(sum[:])
	if c.Reading() {
		p.Digest = binary.LittleEndian.Uint64(sum[:])
	}
}
