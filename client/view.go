package client

import (
	"bytes"
	"iter"
	"math/bits"

	"github.com/signalbox/signalbox/client/internal/view"
)

// View is a semaphore at one moment, as a watch shows it. A View never changes, may be kept and shared, and costs
// little to keep. The data in a View must not be changed.
type View struct {
	// Exists reports whether the name has a semaphore; if not, all other fields but Revision are zero.
	Exists bool
	// Revision grows with every change of the semaphore.
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Data      []byte

	now    *view.View
	before *view.View // the view that the loop was given before; nil for the first
}

func newView(now, before *view.View) *View {
	return &View{
		Exists: now.Exists, Revision: now.Revision, Ephemeral: now.Ephemeral, Limit: now.Limit, Data: now.Data,
		now: now, before: before,
	}
}

// Len returns the number of owners.
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

// First returns the owner that joined first: the leader, if the semaphore is an election.
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

// Changes is the difference between two views. A change that was undone between the views is not in it.
type Changes struct {
	// First: the loop had no view before, and everything is new.
	First bool
	// Created: the semaphore is not the semaphore of the view before, or the view before had none. Deleted: the
	// semaphore of the view before is gone. Both can be true.
	Created bool
	Deleted bool
	// DataChanged, LimitChanged: the semaphore's data, or the limit, differs from the view before.
	DataChanged  bool
	LimitChanged bool
	// Joined are the new owners, Changed the owners whose count or data differs, Gone the former owners, as they were.
	// Each list is ordered by order id.
	Joined  []Owner
	Changed []Owner
	Left    []Owner
}

// Changes returns the changes since the view that the loop was given before. The cost grows with the number of
// changes, not with the number of owners.
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
