package slots

import (
	"slices"

	"github.com/signalbox/signalbox/protocol/level"
)

// Count is the number of slots in a cluster.
const Count = 4096

// State is a slot's state in a data shard.
type State uint8

// The states.
const (
	// None: the shard has nothing of the slot and never gave it away.
	None State = iota
	// Owned: the shard serves the slot.
	Owned
	// Sealed: the content is in a parcel, and nothing of the slot is in the tables. The parcel is offered to another
	// shard.
	Sealed
	// Given: the other shard has opened the parcel. The parcel stays for a while, in case the other shard loses its
	// majority before all its replicas have the content.
	Given
	// Away: the other shard has the slot, and the parcel is gone.
	Away

	states
)

var stateNames = [states]string{None: "none", Owned: "owned", Sealed: "sealed", Given: "given", Away: "away"}

// String formats the state for people.
func (s State) String() string { return stateNames[s] }

// Place is a shard with a slot, and the slot's generation there. The zero value is no place.
type Place struct {
	Shard      uint64
	Generation uint64
}

// Slot is one slot's record in a shard.
type Slot struct {
	Number uint16
	State  State
	// Generation is the number under which the slot is owned, sealed, or was given away. Each new owner has a higher
	// generation than the previous one.
	Generation uint64
	// To is the shard a sealed slot is offered to, or was given to.
	To uint64
	// Seen is the highest generation the shard has heard of. A parcel at Seen, or a lower generation, is never opened
	// here again.
	Seen uint64
	// Hint is where to redirect requests while the slot is not owned here. The zero value is no hint.
	Hint Place
	// Since is the shard time at which the slot was given away.
	Since uint64
	// Why is the reason why the shard refused the parcel with the highest generation, empty if nothing was refused.
	Why string
	// Parcel is a sealed or given slot's content. A parcel never changes.
	Parcel *Parcel
}

// Slots are one data shard's slots, as far as the shard has ever heard of them.
type Slots struct {
	shard uint64
	level level.Level
	slots []Slot // in number order
}

// New returns the slots for a shard that owns none.
func New(shard uint64, at level.Level) *Slots { return &Slots{shard: shard, level: at} }

// Own gives the shard a slot at its bootstrap, before any command, under generation zero.
func (s *Slots) Own(number uint16) { s.slot(number).State = Owned }

// Raise sets the shard's level. A parcel has the packing shard's level.
func (s *Slots) Raise(to level.Level) { s.level = max(s.level, to) }

// Of returns a slot's record.
func (s *Slots) Of(number uint16) Slot {
	if i, ok := s.find(number); ok {
		return s.slots[i]
	}
	return Slot{Number: number}
}

// Owns reports whether the shard owns a slot under a generation. A command that was proposed under one generation and
// is wrong under the next, such as session expiry, checks this: the slot may have gone and come back within a single
// leader's term.
func (s *Slots) Owns(number uint16, generation uint64) bool {
	x := s.Of(number)
	return x.State == Owned && x.Generation == generation
}

// All returns every slot the shard has ever heard of, in number order. The caller must not modify the list.
func (s *Slots) All() []Slot { return s.slots }

func (s *Slots) find(number uint16) (int, bool) {
	return slices.BinarySearchFunc(s.slots, number, func(x Slot, n uint16) int { return int(x.Number) - int(n) })
}

// slot returns a slot's record for a change, and creates a missing record.
func (s *Slots) slot(number uint16) *Slot {
	i, ok := s.find(number)
	if !ok {
		s.slots = slices.Insert(s.slots, i, Slot{Number: number})
	}
	return &s.slots[i]
}
