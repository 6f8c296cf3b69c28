package slots

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// State is a slot's state in a data shard.
type State uint8

// The states.
const (
	// None: the shard has nothing of the slot and never gave it up.
	None State = iota
	// Owned: the shard serves the slot.
	Owned
	// Sealed: the content is in a slot snapshot, and nothing of the slot is in the tables. The slot snapshot is offered
	// to another shard.
	Sealed
	// Transferred: the other shard has opened the slot snapshot. This shard keeps the slot snapshot for a while, in
	// case the other shard loses its majority before all its replicas have the content.
	Transferred
	// Released: the other shard has the slot, and the slot snapshot is gone.
	Released

	states
)

var stateNames = [states]string{
	None: "none", Owned: "owned", Sealed: "sealed", Transferred: "transferred", Released: "released",
}

// String formats the state for people.
func (s State) String() string { return stateNames[s] }

// Owner is a shard with a slot, and the slot's generation there. The zero value is no owner.
type Owner struct {
	Shard      uint64
	Generation uint64
}

// Slot is one slot's record in a shard.
type Slot struct {
	Number shard.Slot
	State  State
	// Generation is the number under which the slot is owned, sealed, or was given up. Each new owner has a higher
	// generation than the previous owner.
	Generation uint64
	// To is the other shard of a sealed, transferred or released slot.
	To uint64
	// Seen is the highest generation known to the shard. From then on, the shard opens no slot snapshot with a
	// generation up to Seen.
	Seen uint64
	// Hint is the owner to which requests are redirected while this shard does not own the slot. The zero value is no
	// hint.
	Hint Owner
	// Since is the shard time at which the slot was transferred.
	Since uint64
	// Why is the reason for refusing the generation Seen, empty if the shard has not refused it.
	Why string
	// Content is a sealed or transferred slot's content.
	Content *Snapshot
}

// Slots are one data shard's slots.
type Slots struct {
	shard   uint64
	owned   shard.SlotSet
	slots   []Slot // changed by a command, in number order. Other slots are Owned under 0, or None
	changes uint64
}

// New returns the slots for a shard that owns the given slots at its bootstrap, under generation zero.
func New(id uint64, owned shard.SlotSet) Slots { return Slots{shard: id, owned: owned} }

// Has reports whether the shard owns a slot.
func (s *Slots) Has(slot shard.Slot) bool { return s.owned.Has(slot) }

// Owned returns the slots the shard owns.
func (s *Slots) Owned() shard.SlotSet { return s.owned }

// Changes is the change count, which grows with every change to the owned slots. Some commands, such as a session
// expiry, are correct only under the change count at their proposal, and carry this count: a slot may leave and return
// within one leader's term.
func (s *Slots) Changes() uint64 { return s.changes }

// Of returns a slot's record.
func (s *Slots) Of(number shard.Slot) Slot {
	if i, ok := s.find(number); ok {
		return s.slots[i]
	}
	return s.unchanged(number)
}

// unchanged is the record for a slot that no command has changed.
func (s *Slots) unchanged(number shard.Slot) Slot {
	x := Slot{Number: number}
	if s.owned.Has(number) {
		x.State = Owned
	}
	return x
}

// Owns reports whether the shard owns a slot under a generation.
func (s *Slots) Owns(number shard.Slot, generation uint64) bool {
	x := s.Of(number)
	return x.State == Owned && x.Generation == generation
}

// Changed returns the records of all slots that a command has changed, in number order. The caller must not modify the
// list.
func (s *Slots) Changed() []Slot { return s.slots }

// Clone returns a copy that shares the slot snapshots, which never change.
func (s *Slots) Clone() Slots {
	c := *s
	c.slots = slices.Clone(s.slots)
	return c
}

func (s *Slots) find(number shard.Slot) (int, bool) {
	return slices.BinarySearchFunc(s.slots, number, func(x Slot, n shard.Slot) int { return int(x.Number) - int(n) })
}

// slot returns a slot's record for a change, and creates a missing record.
func (s *Slots) slot(number shard.Slot) *Slot {
	i, ok := s.find(number)
	if !ok {
		s.slots = slices.Insert(s.slots, i, s.unchanged(number))
	}
	return &s.slots[i]
}

// Adopt makes the shard the owner of an empty slot. A shard rebuilt without a survivor adopts its slots.
func (s *Slots) Adopt(slot shard.Slot, generation uint64) { s.own(s.slot(slot), generation) }

// own makes the shard a slot's owner, with the content in the tables.
func (s *Slots) own(x *Slot, generation uint64) {
	*x = Slot{Number: x.Number, State: Owned, Generation: generation, Seen: max(x.Seen, generation)}
	s.owned.Add(x.Number, x.Number)
	s.changes++
}

// disown ends the ownership of a slot whose content has left the tables.
func (s *Slots) disown(x *Slot) {
	s.owned.Remove(x.Number)
	s.changes++
}
