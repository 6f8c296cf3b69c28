package client

import (
	"bytes"
	"iter"
	"math/bits"

	"github.com/signalbox/signalbox/client/internal/view"
)

// View is a semaphore at one moment, as a watch shows it. It never changes, may be kept and shared, and costs
// little to keep. The data in it must not be changed.
type View struct {
	// Exists reports whether there is a semaphore of that name; where not, everything else is zero but for
	// Revision.
	Exists bool
	// Revision grows with every change of the semaphore.
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Data      []byte

	now    *view.View
	before *view.View // that the same loop was given before; nil for the first
}

func newView(now, before *view.View) *View {
	return &View{
		Exists: now.Exists, Revision: now.Revision, Ephemeral: now.Ephemeral, Limit: now.Limit, Data: now.Data,
		now: now, before: before,
	}
}

// Len returns how many owners there are.
func (v *View) Len() int { return v.now.Owners.Len() }

// Owners returns the owners by order id: the order in which they joined.
func (v *View) Owners() iter.Seq[Owner] {
	return func(yield func(Owner) bool) {
		for o := range v.now.Owners.All() {
			if !yield(viewOwner(o)) {
				return
			}
		}
	}
}

// First returns the owner that joined first: the leader, where the semaphore is an election.
func (v *View) First() (Owner, bool) {
	o, ok := v.now.Owners.First()
	return viewOwner(o), ok
}

// Owner returns the owner of an order id.
func (v *View) Owner(orderID uint64) (Owner, bool) {
	o, ok := v.now.Owners.Find(orderID)
	return viewOwner(o), ok
}

func viewOwner(o view.Owner) Owner {
	return Owner{OrderID: o.OrderID, SessionID: o.SessionID, Count: o.Count, Data: o.Data}
}

// Count returns how much of the limit is owned.
func (v *View) Count() uint64 {
	sum := uint64(0)
	for o := range v.now.Owners.All() {
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
		before = &view.View{}
	}
	another := v.now.IsAnother(before)
	c.Created = v.Exists && (!before.Exists || another)
	c.Deleted = before.Exists && (!v.Exists || another)
	c.DataChanged, c.LimitChanged = !bytes.Equal(before.Data, v.Data), before.Limit != v.Limit
	view.Difference(before.Owners, v.now.Owners, func(was, is *view.Owner) {
		switch {
		case was == nil:
			c.Joined = append(c.Joined, viewOwner(*is))
		case is == nil:
			c.Gone = append(c.Gone, viewOwner(*was))
		default:
			c.Changed = append(c.Changed, viewOwner(*is))
		}
	})
	return c
}
