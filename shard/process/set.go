package process

import (
	"iter"
	"math/bits"
)

// set is a seat set. A seat is a position in an epoch's view.
type set []uint64

// newSet returns an empty set with capacity for the given seat count.
func newSet(seats int) set { return make(set, words(seats)) }

// words is the set's length for the given seat count.
func words(seats int) int { return (seats + 63) / 64 }

func (s set) add(seat int)    { s[seat/64] |= 1 << (seat % 64) }
func (s set) remove(seat int) { s[seat/64] &^= 1 << (seat % 64) }

func (s set) has(seat int) bool { return seat/64 < len(s) && s[seat/64]&(1<<(seat%64)) != 0 }

// count returns how many seats are in the set.
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
