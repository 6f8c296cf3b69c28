package shard

// LinkView is an owner or a waiter as readers see it.
type LinkView struct {
	Order   OrderID
	Session SessionID
	Count   uint64
	Timeout uint64 // of waiters: milliseconds or Forever
	Data    string
	Owner   bool
	Since   uint64 // when it began to own, or to wait: wall clock, milliseconds since 1970; 0 where it is not known
}

// DescribeOptions say what Describe lists besides the object itself.
type DescribeOptions struct {
	Owners  bool    // of a semaphore
	Waiters bool    // of a semaphore
	Rows    bool    // of a view of another kind
	After   OrderID // only those behind this order id, or id of a row: where the page before ended
	Limit   int     // at most so many, and never more than MaxPage; zero means MaxPage
}

// Description is one page of what there is to say of an object, whose name is that of the Ref. Pages of the same
// Revision show the same owners, or rows; where it differs from page to page, begin again to see one moment.
//
// A view of another kind than semaphores has Name, Revision, Data, which is its head, and Rows.
type Description struct {
	SemaphoreView
	Links []LinkView // owners, then waiters, each in order of order id
	Rows  []Row      // by id; good until the Description is used again
	More  bool       // there is another page behind the last of Links, or of Rows

	bodies  []byte          // what Rows are views into
	options DescribeOptions // in memory that is used again
	had     string          // the Data of before
}

// Describe fills d, whose memory is used again, and returns false where there is no object of that kind and name, or no
// such view of it.
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
func (m *Machine) linkAfter(root handle, after OrderID) handle {
	found := handle(0)
	for h := root; h != 0; {
		if m.links.at(h).order > after {
			found, h = h, m.links.byObject.at(h).left
		} else {
			h = m.links.byObject.at(h).right
		}
	}
	return found
}

func (m *Machine) viewLink(l *link) LinkView {
	v := LinkView{
		Order: l.order, Session: m.sessions.at(l.session).id, Count: l.count,
		Data: l.data, Owner: l.owner, Since: l.since,
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
