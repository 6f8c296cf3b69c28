package shard

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol"
)

// A number belongs to one request. The answer that is kept under a number has a hash of what was asked, so that another
// request under that number is refused and not answered as the first one was.

// The numbers that requests are hashed with: fractional digits of pi.
const (
	asked1 = 0x243f6a8885a308d3
	asked2 = 0x13198a2e03707345
	asked3 = 0xa4093822299f31d1
	asked4 = 0x082efa98ec4e6c89
	asked5 = 0x452821e638d01377
	asked6 = 0xbe5466cf34e90c6d
	asked7 = 0xc0ac29b7c97c50dd
)

// askedOf returns the hash of what a numbered command asks for, which is never 0: its kind, the node and the name of
// its object, and its arguments. How long it may wait is none of them, and neither is what it acknowledges, nor when
// and by whom it was proposed. Hashes stand in snapshots: a field that a later level brings is hashed where it is not
// zero. Locks are taken and released with two multiplications.
func askedOf(c *Command, mu *mutation, object uint64) uint64 {
	hash := fold(object^asked1, (uint64(c.Kind)|uint64(c.Flags)<<8)^asked2) ^
		fold(c.Count^asked3, uint64(c.Order)^asked4)
	timeout := c.Timeout
	if mu.waits {
		timeout = 0
	}
	if timeout|c.Term|uint64(c.Revision) != 0 {
		hash = fold(hash^timeout, asked5)
		hash = fold(hash^c.Term, asked5)
		hash = fold(hash^uint64(c.Revision), asked5)
	}
	if len(c.Data) > 0 {
		hash = fold(hash^xxhash.Sum64(c.Data), asked6)
	}
	if len(c.Body) > 0 {
		hash = fold(hash^xxhash.Sum64(c.Body), asked7)
	}
	return max(hash, 1)
}

// fold multiplies two numbers and puts the halves of the product together.
func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

// isAnother reports whether a command came under the number of another request, as far as the answer that is kept under
// the number shows it. Answers to commands of before do not.
func (m *Machine) isAnother(c *Command, mu *mutation, t *target, a *answer) bool {
	return m.rules >= numberOfOneRequest && a != nil && a.asked != 0 && a.asked != askedOf(c, mu, t.hash)
}

// refuseAnother answers a command under the number of another request.
func (m *Machine) refuseAnother() { m.answer(protocol.StatusNumberReused) }
