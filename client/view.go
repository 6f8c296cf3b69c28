package client

import (
	"bytes"
	"iter"
	"math/bits"
)

// View is a semaphore at one moment, as a watch shows it. It never changes, may be kept and shared, and costs
// little to keep. The data in it must not be changed.
type View struct {
	// Exists tells whether there is a semaphore of that name; where not, everything else is zero but for
	// Revision.
	Exists bool
	// Revision grows with every change of the semaphore.
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Data      []byte

	birth  uint64 // tells a semaphore from one of the same name before it
	owners roster
	before *glance
}

// glance is what a view has to know of the one before, without holding it.
type glance struct {
	exists bool
	birth  uint64
	data   []byte
	limit  uint64
	owners roster
}

// Len returns how many owners there are.
func (v *View) Len() int { return v.owners.count }

// Owners returns the owners by order id: the order in which they joined.
func (v *View) Owners() iter.Seq[Owner] { return v.owners.all() }

// First returns the owner that joined first: the leader, where the semaphore is an election.
func (v *View) First() (Owner, bool) {
	if v.owners.count == 0 {
		return Owner{}, false
	}
	return v.owners.pieces[0].owners[0], true
}

// Owner returns the owner of an order id.
func (v *View) Owner(orderID uint64) (Owner, bool) { return v.owners.find(orderID) }

// Count returns how much of the limit is owned.
func (v *View) Count() uint64 {
	sum := uint64(0)
	for o := range v.Owners() {
		var over uint64
		if sum, over = bits.Add64(sum, o.Count, 0); over != 0 {
			return All
		}
	}
	return sum
}

// Changes is what has happened between two views. What came and went in between is not in it.
type Changes struct {
	// First: there was no view before, and everything is new.
	First bool
	// Created: the semaphore is another one than before, or there was none. Deleted: the one of before is
	// gone. Both can be true.
	Created bool
	Deleted bool
	// DataChanged, LimitChanged: the semaphore's data, or its limit, is other than before.
	DataChanged  bool
	LimitChanged bool
	// Joined are the owners that are new, Changed those with another count or other data, Gone those that
	// are owners no more, as they were. Each is ordered by order id.
	Joined  []Owner
	Changed []Owner
	Gone    []Owner
}

// Changes returns what has changed since the view that the same loop was given before. It takes as long as
// there are changes, not owners.
func (v *View) Changes() Changes {
	before := v.before
	c := Changes{First: before == nil}
	if before == nil {
		before = &glance{}
	}
	another := before.birth != v.birth
	c.Created = v.Exists && (!before.exists || another)
	c.Deleted = before.exists && (!v.Exists || another)
	c.DataChanged, c.LimitChanged = !bytes.Equal(before.data, v.Data), before.limit != v.Limit
	difference(before.owners, v.owners, func(was, is *Owner) {
		switch {
		case was == nil:
			c.Joined = append(c.Joined, *is)
		case is == nil:
			c.Gone = append(c.Gone, *was)
		default:
			c.Changed = append(c.Changed, *is)
		}
	})
	return c
}

// glance returns what the next view has to know of this one.
func (v *View) glance() *glance {
	return &glance{exists: v.Exists, birth: v.birth, data: v.Data, limit: v.Limit, owners: v.owners}
}

// same tells whether nothing that a user can see has changed, but for the revision.
func (v *View) same(w *View) bool {
	if v.Exists != w.Exists || v.birth != w.birth || v.Ephemeral != w.Ephemeral || v.Limit != w.Limit ||
		!bytes.Equal(v.Data, w.Data) || v.owners.count != w.owners.count {
		return false
	}
	same := true
	difference(v.owners, w.owners, func(*Owner, *Owner) { same = false })
	return same
}
