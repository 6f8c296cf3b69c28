package shard

import "github.com/signalbox/signalbox/shard/internal/arena"

// LinkView is an owner or a waiter for readers.
type LinkView struct {
	Order   OrderID
	Session SessionID
	Count   uint64
	Timeout uint64 // of waiters: milliseconds or Forever
	Data    string
	Owner   bool
	Since   uint64 // start of the ownership, or of the wait: wall clock, milliseconds since 1970; 0 if unknown
}

// DescribeOptions choose the lists of a Describe besides the object itself.
type DescribeOptions struct {
	Owners  bool    // of a semaphore
	Waiters bool    // of a semaphore
	Rows    bool    // of a view of a kind other than semaphores
	After   OrderID // only entries behind the order id, or behind the id of a row: the end of the page before
	Limit   int     // at most so many, and never more than MaxPage; zero means MaxPage
}

// Description is one page of the description of an object; the name is the name of the Ref. Pages of the same
// Revision show the same owners, or rows. If the revision differs from page to page, begin again to see one moment.
//
// A view of a kind other than semaphores has Name, Revision, Rows, and its head as Data.
type Description struct {
	SemaphoreView
	Links []LinkView // owners, then waiters, both in order of order id
	Rows  []Row      // by id; good until the Description is used again
	More  bool       // a further page is behind the last of Links, or of Rows

	bodies  []byte          // the memory of Rows
	options DescribeOptions // in memory that is used again
	had     string          // the Data of before
}

// Describe fills d, and reuses the memory of d. It returns false if there is no object of the kind and name, or no
// such view of the object.
func (m *Machine) Describe(r Ref, o DescribeOptions, d *Description) bool {
	*d = Description{Links: d.Links[:0], Rows: d.Rows[:0], bodies: d.bodies[:0], had: d.Data}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h, v, ok := m.lookUp(&r)
	if !ok {
		return false
	}
	d.Name, d.Revision = r.Name, v.revision
	d.options = o
	m.kinds[r.Kind].describe(m, h, v, &d.options, d)
	d.options, d.had = DescribeOptions{}, ""
	return true
}

// linkAfter returns the first link of an object behind the order id.
func (m *Machine) linkAfter(root arena.Handle, after OrderID) arena.Handle {
	return m.links.byObject.Search(root, func(h arena.Handle) bool { return m.links.At(h).order > after })
}

// viewLink is a link for readers, who may have its data already.
func (m *Machine) viewLink(l *link, had string) LinkView {
	v := LinkView{
		Order: l.order, Session: m.sessions.At(l.session).id, Count: l.count,
		Data: m.links.texts.Again(l.data, had), Owner: l.owner, Since: l.since,
	}
	if !l.owner {
		v.Timeout = l.timeout.millis()
	}
	return v
}

func pageLimit(asked int) int {
	if asked <= 0 || asked > MaxPage {
		return MaxPage
	}
	return asked
}
