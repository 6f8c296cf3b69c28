package shard

import (
	"math/bits"

	"github.com/cespare/xxhash/v2"

	"github.com/signalbox/signalbox/protocol"
)

// A number belongs to one request. The answer under a number has a hash of the request, so that a different request
// under the number is refused, and does not get the answer to the first.

// The multipliers of the hash: fractional digits of pi.
const (
	asked1 = 0x243f6a8885a308d3
	asked2 = 0x13198a2e03707345
	asked3 = 0xa4093822299f31d1
	asked4 = 0x082efa98ec4e6c89
	asked5 = 0x452821e638d01377
	asked6 = 0xbe5466cf34e90c6d
	asked7 = 0xc0ac29b7c97c50dd
)

// askedOf returns the hash of the request of a numbered command, never 0. The request is the kind, the node and the
// name of the object, and the arguments. Not in the hash are the longest time to wait, the acknowledged number, and
// the time and the host of the proposal. Hashes stand in snapshots: a field of a later level is hashed only if it is
// not zero. The hash of an acquire or a release without data takes two multiplications.
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

// isAnother reports whether a command came under the number of a different request, as far as the answer under the
// number shows. Answers from below the level of the rule show nothing.
func (m *Machine) isAnother(c *Command, mu *mutation, t *target, a *answer) bool {
	return m.rules >= numberOfOneRequest && a != nil && a.asked != 0 && a.asked != askedOf(c, mu, t.hash)
}

// refuseAnother answers a command under the number of a different request.
func (m *Machine) refuseAnother() { m.answer(protocol.StatusNumberReused) }
