package slots

import (
	"fmt"

	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Entry is one slot's record in the meta shard.
type Entry struct {
	Place
	// Last is the highest generation in any attempt. Generations up to Last are never issued again.
	Last uint64
}

// Table is the meta shard's slot table with generations. The zero value assigns no slot.
type Table struct {
	entries [Count]Entry
}

// Init assigns a slot to a shard at a cluster's bootstrap, under generation zero.
func (t *Table) Init(slot uint16, shard uint64) {
	t.entries[slot] = Entry{Place: Place{Shard: shard}}
}

// Of returns a slot's table entry.
func (t *Table) Of(slot uint16) Entry { return t.entries[slot] }

// Attempt issues two generations for an attempt to move a slot, and never again: the returned one for the opening
// shard, the next for the keeping shard. So two owners of a slot never have the same generation.
func (t *Table) Attempt(slot uint16) (generation uint64) {
	e := &t.entries[slot]
	e.Last += 2
	return e.Last - 1
}

// Assignment is one slot in the command slots-assign: the slot's owner, and the generation.
type Assignment struct {
	Slot uint16
	Place
}

// Assign records who owns slots. A generation only rises, so a late or repeated assignment has no effect. Assign
// returns how many slots changed. If any generation was never issued, the whole list is refused.
func (t *Table) Assign(list []Assignment) (changed int, err error) {
	for _, a := range list {
		if a.Slot >= Count || a.Shard == 0 || a.Generation > t.entries[a.Slot].Last {
			return 0, fmt.Errorf("slots: assign slot %d: generation %d was never handed out", a.Slot, a.Generation)
		}
	}
	for _, a := range list {
		if e := &t.entries[a.Slot]; a.Generation > e.Generation {
			e.Place = a.Place
			changed++
		}
	}
	return changed, nil
}

// Save appends the table. Equal consecutive slots take one entry, because most slots never move.
func (t *Table) Save(dst []byte) []byte {
	c := codec.Writer(dst)
	c.Form(formNumber)
	for first := 0; first < Count; {
		e, next := t.entries[first], first+1
		for next < Count && t.entries[next] == e {
			next++
		}
		length := uint64(next - first)
		c.Numbers(&length, &e.Shard, &e.Generation, &e.Last)
		first = next
	}
	return c.Data()
}

// LoadTable decodes a table.
func LoadTable(src []byte) (*Table, error) {
	t := &Table{}
	if err := codec.Load(src, formNumber, "slots: load a table", t.load, nil); err != nil {
		return nil, err
	}
	return t, nil
}

func (t *Table) load(c *codec.Coder) {
	c.Form(formNumber)
	for first := uint64(0); first < Count && c.Sound(); {
		var length uint64
		var e Entry
		c.Numbers(&length, &e.Shard, &e.Generation, &e.Last)
		c.Must(length > 0 && length <= Count-first, "a run has %d slots", length)
		c.Must(e.Generation <= e.Last, "a slot has a generation that was never handed out")
		c.Must(first == 0 || t.entries[first-1] != e, "two runs say the same")
		if c.Sound() {
			for range length {
				t.entries[first] = e
				first++
			}
		}
	}
}
