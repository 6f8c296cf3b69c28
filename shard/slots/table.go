package slots

import (
	"fmt"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Entry is one slot's record in the meta shard.
type Entry struct {
	Owner
	// Last is the highest issued generation. Generations up to Last are never issued again.
	Last uint64
}

// Table is the meta shard's slot table with generations. The zero value assigns no slot.
type Table struct {
	entries [shard.Slots]Entry
}

// NewTable returns the table at a cluster's bootstrap, under generation zero: each shard gets one range, in list order.
// Range lengths differ by at most one slot.
func NewTable(shards []uint64) *Table {
	t := &Table{}
	for i, id := range shards {
		for slot := i * shard.Slots / len(shards); slot < (i+1)*shard.Slots/len(shards); slot++ {
			t.Init(shard.Slot(slot), id)
		}
	}
	return t
}

// Init assigns a slot to a shard at a cluster's bootstrap, under generation zero.
func (t *Table) Init(slot shard.Slot, shard uint64) {
	t.entries[slot] = Entry{Owner: Owner{Shard: shard}}
}

// Of returns a slot's table entry.
func (t *Table) Of(slot shard.Slot) Entry { return t.entries[slot] }

// Attempt issues two new generations for an attempt to move a slot: the returned generation for the opening shard, and
// the next generation for the keeping shard. So two owners of a slot never have the same generation.
func (t *Table) Attempt(slot shard.Slot) (generation uint64) {
	e := &t.entries[slot]
	e.Last += 2
	return e.Last - 1
}

// Assignment is the outcome of an attempt: the slot's owner, and the generation.
type Assignment struct {
	Slot shard.Slot
	Owner
}

// Assign records the owners of slots. Generations only rise, so a late or repeated assignment has no effect. Assign
// returns how many slots changed. If any generation was never issued, the whole list is refused.
func (t *Table) Assign(list []Assignment) (changed int, err error) {
	for _, a := range list {
		if a.Slot >= shard.Slots || a.Shard == 0 || a.Generation > t.entries[a.Slot].Last {
			return 0, fmt.Errorf("slots: assign slot %d: generation %d was never handed out", a.Slot, a.Generation)
		}
	}
	for _, a := range list {
		if e := &t.entries[a.Slot]; a.Generation > e.Generation {
			e.Owner = a.Owner
			changed++
		}
	}
	return changed, nil
}

// Pending returns the generation of the slot's open attempt, 0 if the last attempt has ended.
func (t *Table) Pending(slot shard.Slot) (generation uint64) {
	if e := &t.entries[slot]; e.Last > e.Generation+1 {
		return e.Last - 1
	}
	return 0
}

// Ranges calls do for each run of consecutive slots with one owner, in order.
func (t *Table) Ranges(do func(first, last shard.Slot, o Owner)) {
	for first := 0; first < shard.Slots; {
		o, next := t.entries[first].Owner, first+1
		for next < shard.Slots && t.entries[next].Owner == o {
			next++
		}
		do(shard.Slot(first), shard.Slot(next-1), o)
		first = next
	}
}

// Code encodes or decodes the table. Equal consecutive slots take one entry, because most slots never move.
func (t *Table) Code(c *codec.Coder) {
	for first := uint64(0); first < shard.Slots && c.Sound(); {
		e, length := t.entries[first], uint64(1)
		for !c.Reading() && first+length < shard.Slots && t.entries[first+length] == e {
			length++
		}
		c.Numbers(&length, &e.Shard, &e.Generation, &e.Last)
		c.Must(length > 0 && length <= shard.Slots-first, "a run has %d slots", length)
		c.Must(e.Generation <= e.Last, "a slot has a generation that was never handed out")
		c.Must(first == 0 || t.entries[first-1] != e, "two runs say the same")
		if !c.Sound() {
			return
		}
		for k := first; c.Reading() && k < first+length; k++ {
			t.entries[k] = e
		}
		first += length
	}
}
