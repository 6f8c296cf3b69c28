package slots

import (
	"encoding/binary"
	"errors"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// The bounds of a parcel: the content of a slot moves within one command. A larger slot stays. The numbers of
// sessions have bounds of their own, because they grow with the sessions of the whole shard.
const (
	MaxBytes       = 256 << 10
	MaxRecords     = 2000
	MaxNumbers     = 4000
	MaxNumberBytes = 64 << 10
)

// MaxWhy is how many bytes of the reason of a refusal are kept.
const MaxWhy = 200

// Parcel is the content of one slot, as packed by the sealing shard. The rules read the
// bounds, the level and the digest; the meaning of the bytes is up to Content.
type Parcel struct {
	// Level is the level of the packing shard, and of the form of the bytes.
	Level level.Level
	// Now is the time of the packing shard at the seal. Moments in the parcel are relative to Now.
	Now uint64
	// LastOrder, LastRevision and LastSession are the counters of the packing shard. The opening shard gives no lower
	// number.
	LastOrder, LastRevision, LastSession uint64
	// Records is how many objects, links, sessions and answers the bytes hold, Sessions how many entries the numbers.
	Records, Sessions uint64
	Bytes             []byte
	Numbers           []byte
	// Digest is of everything before. The rules set the digest at the seal.
	Digest uint64
}

// digest sums up all other fields of a parcel.
func (p *Parcel) digest() uint64 {
	copied := *p
	copied.Digest = 0
	return xxhash.Sum64(codec.Save(nil, copied.code))
}

// The reasons why a parcel is not accepted, whatever the bytes mean.
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

// check returns an error for a parcel above the bounds, or one whose bytes were damaged on the way.
func (p *Parcel) check() error {
	if err := p.small(); err != nil {
		return err
	}
	if p.digest() != p.Digest {
		return errDigest
	}
	return nil
}

// Moment returns a moment in the parcel in the time of the shard taking the parcel in: as far from now
// as the moment was from the seal, and one millisecond more, because a millisecond may have begun at the seal and
// not be over. Zero means none and stays zero; no moment becomes zero.
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
