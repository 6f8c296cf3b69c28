package view

import (
	"bytes"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// View is a semaphore, or a view of another object kind, at one moment. A View never changes once it is shown.
type View struct {
	Exists    bool
	Revision  uint64
	Ephemeral bool   // of a semaphore
	Limit     uint64 // of a semaphore
	Data      []byte // head for other object kinds
	Owners    Owners
	Rows      Rows

	birth uint64 // differs if an object is recreated under the name
	whole uint64 // number of snapshots up to the view
}

// Owner is a session that owns semaphore units. The data is shared and must not be changed.
type Owner struct {
	OrderID   uint64
	SessionID uint64
	Count     uint64
	Data      []byte
}

func (o *Owner) equal(p *Owner) bool {
	return o.OrderID == p.OrderID && o.SessionID == p.SessionID && o.Count == p.Count && bytes.Equal(o.Data, p.Data)
}

func (o *Owner) id() uint64 { return o.OrderID }

// Row is a row in an object other than a semaphore. The body is shared and must not be changed.
type Row struct {
	ID   uint64
	Body []byte
}

func (r *Row) id() uint64 { return r.ID }

func (r *Row) equal(s *Row) bool { return r.ID == s.ID && bytes.Equal(r.Body, s.Body) }

// IsAnother reports whether the view shows another object than the view before, under the same name.
func (v *View) IsAnother(before *View) bool { return v.birth != before.birth }

// IsWhole reports whether the view rests on a later snapshot than the view before. Then the changes between the two
// views are not known: the object may have been deleted, and a new object of the name made.
func (v *View) IsWhole(before *View) bool { return v.whole != before.whole }

// looksLike reports whether a user would see no change between the views, apart from the revision.
func (v *View) looksLike(w *View) bool {
	if v.Exists != w.Exists || v.birth != w.birth || v.Ephemeral != w.Ephemeral || v.Limit != w.Limit ||
		!bytes.Equal(v.Data, w.Data) || v.Owners.count != w.Owners.count || v.Rows.count != w.Rows.count {
		return false
	}
	same := true
	Difference(v.Owners, w.Owners, func(*Owner, *Owner) { same = false })
	Difference(v.Rows, w.Rows, func(*Row, *Row) { same = false })
	return same
}

// after returns the view after a delta: the view itself if it already includes the delta, and nil if earlier changes
// are missing.
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
		next.whole = v.whole
	case protocol.ExistenceDeleted:
		next = View{Revision: p.To, birth: v.birth, whole: v.whole}
	}
	if p.DataChanged {
		next.Data = slices.Clone(p.Data)
	}
	if p.Limit != 0 {
		next.Limit = p.Limit
	}
	if p.Gone.Len() == 0 && p.Joined.Len() == 0 && p.Rows.Len() == 0 {
		return &next
	}
	gone := make([]uint64, 0, p.Gone.Len())
	for id := range p.Gone.All() {
		gone = append(gone, uint64(id))
	}
	if len(gone) > 0 && next.Owners.count > 0 || p.Joined.Len() > 0 {
		joined := make([]Owner, 0, p.Joined.Len())
		for o := range p.Joined.All() {
			joined = append(joined, owner(&o))
		}
		next.Owners = next.Owners.with(gone, joined)
	}
	if len(gone) > 0 && next.Rows.count > 0 || p.Rows.Len() > 0 {
		came := make([]Row, 0, p.Rows.Len())
		for r := range p.Rows.All() {
			came = append(came, row(&r))
		}
		next.Rows = next.Rows.with(gone, came)
	}
	return &next
}

// draft is a snapshot with missing pages.
type draft struct {
	view   View
	owners []Owner
	rows   []Row
}

// page adds a page. It returns the view once complete, and nil before.
func (d *draft) page(p *protocol.WatchSnapshot) *View {
	if p.First {
		*d = draft{view: View{
			Exists: p.Exists, Ephemeral: p.Ephemeral, Limit: p.Limit, Data: slices.Clone(p.Data),
		}}
	}
	for o := range p.Owners.All() {
		d.owners = append(d.owners, owner(&o))
	}
	for r := range p.Rows.All() {
		d.rows = append(d.rows, row(&r))
	}
	if !p.Last {
		return nil
	}
	v := d.view
	v.Revision, v.Owners, v.Rows = p.Revision, listOf[Owner](d.owners), listOf[Row](d.rows)
	*d = draft{}
	return &v
}

func owner(o *protocol.Owner) Owner {
	return Owner{OrderID: o.OrderID, SessionID: o.SessionID, Count: o.Count, Data: slices.Clone(o.Data)}
}

func row(r *protocol.Row) Row { return Row{ID: r.ID, Body: slices.Clone(r.Body)} }
