package process

import (
	"iter"
	"math/bits"
)

// set is a set of seats: positions in an epoch's view.
type set []uint64

// newSet returns an empty set for the given number of seats.
func newSet(seats int) set { return make(set, words(seats)) }

// words is the length of such a set.
func words(seats int) int { return (seats + 63) / 64 }

func (s set) add(seat int)    { s[seat/64] |= 1 << (seat % 64) }
func (s set) remove(seat int) { s[seat/64] &^= 1 << (seat % 64) }

func (s set) has(seat int) bool { return seat/64 < len(s) && s[seat/64]&(1<<(seat%64)) != 0 }

// count is the number of seats in the set.
func (s set) count() (n int) {
	for _, w := range s {
		n += bits.OnesCount64(w)
	}
	return n
}

// all returns the seats in order.
func (s set) all() iter.Seq[int] {
	return func(yield func(int) bool) {
		for k, w := range s {
			for ; w != 0; w &= w - 1 {
				if !yield(64*k + bits.TrailingZeros64(w)) {
					return
				}
			}
		}
	}
}
