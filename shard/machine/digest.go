package machine

import (
	"encoding/binary"

	"github.com/cespare/xxhash/v2"
)

// Digest is one number for the machine state at the time of BeginDigest. Replicas that applied the same log have the
// same digest, even if their memory layout differs. The digest is computed in steps beside Apply, as a snapshot is
// saved. Its records are encoded at the shard's level, so older and newer builds agree.
type Digest struct {
	fixed *snapshot
	sum   uint64
	at    phase
	buf   []byte
}

// BeginDigest fixes the present state at almost no cost, however much the machine holds. Close must end the digest.
func (m *Machine) BeginDigest() *Digest {
	d := &Digest{fixed: m.fix(withNames)}
	d.sum = xxhash.Sum64(d.fixed.header.append(nil))
	return d
}

// Step processes the next few records under the read lock. ok is false if the state was replaced meanwhile, so there is
// no digest.
func (d *Digest) Step() (done, ok bool) {
	if d.buf, done, ok = d.fixed.step(d.buf[:0], d.at); !ok {
		return true, false
	}
	for records := d.buf; len(records) > 0; {
		n := 4 + binary.LittleEndian.Uint32(records)
		// Records come in any order, so the digest is a sum. The phase number replaces the four length bytes, so equal
		// records from two phases count differently.
		binary.LittleEndian.PutUint32(records, uint32(d.at))
		d.sum += xxhash.Sum64(records[:n])
		records = records[n:]
	}
	if done {
		d.at++
	}
	return d.at == phases, true
}

// Sum is the digest, once Step has returned done.
func (d *Digest) Sum() uint64 { return d.sum }

// Close releases the fixed state.
func (d *Digest) Close() { d.fixed.Discard() }

// Digest computes a digest for the present state in one go.
func (m *Machine) Digest() uint64 {
	d := m.BeginDigest()
	defer d.Close()
	for done := false; !done; {
		done, _ = d.Step()
	}
	return d.Sum()
}
