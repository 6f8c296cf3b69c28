package slots

import (
	"slices"

	"github.com/signalbox/signalbox/protocol/level"
)

// Count is the number of slots of a cluster.
const Count = 4096

// State is the state of a slot in a data shard.
type State uint8

// The states.
const (
	// None: the shard has nothing of the slot and never gave the slot away.
	None State = iota
	// Owned: the shard serves the slot.
	Owned
	// Sealed: the content stands in a parcel, and nothing of the slot is in the tables. The parcel is offered to
	// another shard.
	Sealed
	// Given: the other shard has opened the parcel. The parcel stays for a while, in case the other shard loses its
	// majority before all of its replicas have the content.
	Given
	// Away: the other shard has the slot, and the parcel is gone.
	Away

	states
)

var stateNames = [states]string{None: "none", Owned: "owned", Sealed: "sealed", Given: "given", Away: "away"}

// String returns the state for people.
func (s State) String() string { return stateNames[s] }

// Place is a shard with a slot, and the generation of the slot there. The zero value is no place.
type Place struct {
	Shard      uint64
	Generation uint64
}

// Slot is the record of one slot in a shard.
type Slot struct {
	Number uint16
	State  State
	// Generation is the number under which the slot is owned, sealed, or was given away. Of two owners in a row, the
	// later owner has the higher generation.
	Generation uint64
	// To is the shard a sealed slot is offered to, or was given to.
	To uint64
	// Seen is the highest generation the shard has heard of. A parcel of Seen, or of a lower generation, is
	// never opened here again.
	Seen uint64
	// Hint is the place to redirect requests to while the slot is not owned here. The zero value is no hint.
	Hint Place
	// Since is the time of the shard at which the slot was given away.
	Since uint64
	// Why is the reason why the shard refused the parcel of the highest generation, empty where nothing was refused.
	Why string
	// Parcel is the content of a sealed or given slot. A parcel never changes.
	Parcel *Parcel
}

// Slots are the slots of one data shard, as far as the shard has ever heard of them.
type Slots struct {
	shard uint64
	level level.Level
	slots []Slot // in the order of their numbers
}

// New returns the slots of a shard without slots.
func New(shard uint64, at level.Level) *Slots { return &Slots{shard: shard, level: at} }

// Own gives the shard a slot at its bootstrap, before any command, under the generation zero.
func (s *Slots) Own(number uint16) { s.slot(number).State = Owned }

// Raise sets the level of the shard. A parcel has the level of the packing shard.
func (s *Slots) Raise(to level.Level) { s.level = max(s.level, to) }

// Of returns the record of a slot.
func (s *Slots) Of(number uint16) Slot {
	if i, ok := s.find(number); ok {
		return s.slots[i]
	}
	return Slot{Number: number}
}

// Owns reports whether the shard owns a slot under a generation. A command proposed under one generation and wrong
// under the next, such as the expiry of sessions, looks here: the slot may have gone and come back within one term
// of one leader.
func (s *Slots) Owns(number uint16, generation uint64) bool {
	x := s.Of(number)
	return x.State == Owned && x.Generation == generation
}

// All returns every slot the shard has ever heard of, in the order of their numbers. The caller must not change
// the list.
func (s *Slots) All() []Slot { return s.slots }

func (s *Slots) find(number uint16) (int, bool) {
	return slices.BinarySearchFunc(s.slots, number, func(x Slot, n uint16) int { return int(x.Number) - int(n) })
}

// slot returns the record of a slot to change, and makes a missing record.
func (s *Slots) slot(number uint16) *Slot {
	i, ok := s.find(number)
	if !ok {
		s.slots = slices.Insert(s.slots, i, Slot{Number: number})
	}
	return &s.slots[i]
}
