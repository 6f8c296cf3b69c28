package view

import (
	"bytes"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// View is a semaphore at one moment. It never changes once it is shown.
type View struct {
	Exists    bool
	Revision  uint64
	Ephemeral bool
	Limit     uint64
	Data      []byte
	Owners    Owners

	birth uint64 // differs from that of a semaphore of the same name before it
}

// IsAnother reports whether the view is of another semaphore than the one of the same name before.
func (v *View) IsAnother(before *View) bool { return v.birth != before.birth }

// looksLike reports whether nothing that a user can see has changed, but for the revision.
func (v *View) looksLike(w *View) bool {
	if v.Exists != w.Exists || v.birth != w.birth || v.Ephemeral != w.Ephemeral || v.Limit != w.Limit ||
		!bytes.Equal(v.Data, w.Data) || v.Owners.count != w.Owners.count {
		return false
	}
	same := true
	Difference(v.Owners, w.Owners, func(*Owner, *Owner) { same = false })
	return same
}

// after returns the view that a delta leads to: this one where it has it all already, and nil where something
// between the two is missing.
func (v *View) after(p *protocol.WatchDelta) *View {
	switch {
	case p.To <= v.Revision:
		return v
	case p.From > v.Revision:
		return nil
	}
	next := *v
	next.Revision = p.To
	switch p.Existence {
	case protocol.ExistenceCreated:
		next = View{Revision: p.To, Exists: true, Ephemeral: p.Ephemeral, Limit: p.Limit, birth: v.birth + 1}
	case protocol.ExistenceDeleted:
		next = View{Revision: p.To, birth: v.birth}
	}
	if p.DataChanged {
		next.Data = slices.Clone(p.Data)
	}
	if p.Limit != 0 {
		next.Limit = p.Limit
	}
	if p.Gone.Len() == 0 && p.Joined.Len() == 0 {
		return &next
	}
	gone := make([]uint64, 0, p.Gone.Len())
	for order := range p.Gone.All() {
		gone = append(gone, uint64(order))
	}
	joined := make([]Owner, 0, p.Joined.Len())
	for o := range p.Joined.All() {
		joined = append(joined, owner(&o))
	}
	next.Owners = next.Owners.with(gone, joined)
	return &next
}

// draft is a snapshot of which pages are missing.
type draft struct {
	view   View
	owners []Owner
}

// page adds a page. It returns the view that is whole with it, or nil.
func (d *draft) page(p *protocol.WatchSnapshot) *View {
	if p.First {
		*d = draft{view: View{
			Exists: p.Exists, Ephemeral: p.Ephemeral, Limit: p.Limit, Data: slices.Clone(p.Data),
		}}
	}
	for o := range p.Owners.All() {
		d.owners = append(d.owners, owner(&o))
	}
	if !p.Last {
		return nil
	}
	v := d.view
	v.Revision, v.Owners = p.Revision, ownersOf(d.owners)
	*d = draft{}
	return &v
}

func owner(o *protocol.Owner) Owner {
	return Owner{OrderID: o.OrderID, SessionID: o.SessionID, Count: o.Count, Data: slices.Clone(o.Data)}
}
