package client

import (
	"bytes"
	"iter"
	"math/bits"

	"github.com/signalbox/signalbox/client/internal/view"
)

// View is a semaphore at one moment, as shown by a watch. A View never changes, may be kept and shared, and costs
// little to keep. The data in a View must not be changed.
type View struct {
	// Exists reports whether the semaphore exists; if not, all other fields except Revision are zero.
	Exists bool
	// Revision grows with every change to the semaphore.
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Data      []byte

	now    *view.View
	before *view.View // the loop's previous view; nil for the first
}

func newView(now, before *view.View) *View {
	return &View{
		Exists: now.Exists, Revision: now.Revision, Ephemeral: now.Ephemeral, Limit: now.Limit, Data: now.Data,
		now: now, before: before,
	}
}

// Len returns the number of owners.
func (v *View) Len() int { return v.now.Owners.Len() }

// Owners returns the owners sorted by order id, which is the order in which they joined.
func (v *View) Owners() iter.Seq[Owner] {
	return func(yield func(Owner) bool) {
		for o := range v.now.Owners.All() {
			if !yield(viewOwner(o)) {
				return
			}
		}
	}
}

// First returns the owner that joined first: the leader, if the semaphore is an election.
func (v *View) First() (Owner, bool) {
	o, ok := v.now.Owners.First()
	return viewOwner(o), ok
}

// Owner returns the owner with the given order id.
func (v *View) Owner(orderID uint64) (Owner, bool) {
	o, ok := v.now.Owners.Find(orderID)
	return viewOwner(o), ok
}

func viewOwner(o view.Owner) Owner {
	return Owner{OrderID: o.OrderID, SessionID: o.SessionID, Count: o.Count, Data: o.Data}
}

// Count returns the number of owned units.
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

// Changes is the difference between two views. It omits changes that were undone between the views.
type Changes struct {
	// First: the loop had no view before, and everything is new.
	First bool
	// Created means that the semaphore is new: the previous view had none, or another one. Deleted means that the
	// previous view's semaphore is gone. Both can be true.
	Created bool
	Deleted bool
	// DataChanged, LimitChanged: the semaphore's data, or the limit, differs from the view before.
	DataChanged  bool
	LimitChanged bool
	// Joined lists new owners, Changed lists owners with a different count or data, and Gone lists former owners with
	// their last state. Each list is sorted by order id.
	Joined  []Owner
	Changed []Owner
	Left    []Owner
}

// Changes returns the changes since the loop's previous view. The cost grows with the number of changes, not with the
// number of owners.
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
			c.Left = append(c.Left, viewOwner(*was))
		default:
			c.Changed = append(c.Changed, viewOwner(*is))
		}
	})
	return c
}
