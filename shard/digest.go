package shard

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Digest sums up what a machine held when it was begun in one number: replicas of one shard that applied the same log
// have the same, however their memory is laid out. It is taken in steps beside Apply, as a snapshot is saved, and in
// the form of the shard's level, so that builds which know more agree with those that do not.
type Digest struct {
	fixed *snapshot
	sum   uint64
	at    phase
	buf   []byte
}

// BeginDigest fixes the state as it is now. It costs next to nothing, however much there is. The digest must be ended
// with Close.
func (m *Machine) BeginDigest() *Digest {
	d := &Digest{fixed: m.fix(withNames)}
	d.sum = xxhash.Sum64(d.fixed.header.append(nil))
	return d
}

// Step takes the next few records, under the read lock. ok is false where the state was replaced meanwhile: then there
// is no digest.
func (d *Digest) Step() (done, ok bool) {
	if d.buf, done, ok = d.fixed.step(d.buf[:0], d.at); !ok {
		return true, false
	}
	for records := d.buf; len(records) > 0; {
		n := 4 + binary.LittleEndian.Uint32(records)
		// Records come in any order, so they are added up. The four bytes of length become the number of the phase, so
		// that records of two phases never count alike.
		binary.LittleEndian.PutUint32(records, uint32(d.at))
		d.sum += xxhash.Sum64(records[:n])
		records = records[n:]
	}
	if done {
		d.at++
	}
	return d.at == phases, true
}

// Sum is the digest, once Step was done.
func (d *Digest) Sum() uint64 { return d.sum }

// Close lets the machine forget what the digest was taken of.
func (d *Digest) Close() { d.fixed.Discard() }

// Digest takes a digest of the state as it is now in one go.
func (m *Machine) Digest() uint64 {
	d := m.BeginDigest()
	defer d.Close()
	for done := false; !done; {
		done, _ = d.Step()
	}
	return d.Sum()
}
