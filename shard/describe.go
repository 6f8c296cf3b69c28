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

// DescribeOptions say what Describe lists besides the semaphore itself.
type DescribeOptions struct {
	Owners  bool
	Waiters bool
	After   OrderID // only those behind this order id: where the page before ended
	Limit   int     // at most so many, and never more than MaxPage; zero means MaxPage
}

// Description is one page of what there is to say of a semaphore. Pages of the same Revision show the
// same owners; where it differs from page to page, begin again to see one moment.
type Description struct {
	SemaphoreView
	Links []LinkView // owners, then waiters, each in order of order id
	More  bool       // there is another page behind the last of Links
}

// Describe fills d, whose memory is used again, and returns false where there is no semaphore of that
// name.
func (m *Machine) Describe(n NodeID, name []byte, o DescribeOptions, d *Description) bool {
	*d = Description{Links: d.Links[:0]}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.objects.find(ObjectHash(n, name), n, name)
	if h == 0 || !m.isSemaphore(h) || m.objects.at(h).deleting {
		return false
	}
	ob := m.objects.at(h)
	d.SemaphoreView = m.viewSemaphore(ob)
	limit := pageLimit(o.Limit)
	for l := m.firstListed(ob, &o); l != 0; l = m.links.byObject.next(l) {
		v := m.links.at(l)
		if !v.owner && !o.Waiters {
			break
		}
		if len(d.Links) == limit {
			d.More = true
			break
		}
		d.Links = append(d.Links, m.viewLink(v))
	}
	return true
}

// WillQueue reports whether an acquire would be queued if it were applied now, and so until an owner gives something
// back. It is a forecast: the acquire is not checked as it is when it is applied.
func (m *Machine) WillQueue(c *Command) bool {
	if c.Timeout == 0 {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.objects.find(ObjectHash(c.Node, c.Name), c.Node, c.Name)
	if h == 0 || !m.isSemaphore(h) || m.objects.at(h).deleting {
		return false
	}
	o := m.objects.at(h)
	s := m.semaphore(o)
	if c.Count > s.limit || o.firstWaiter == 0 && s.fits(c.Count) {
		return false
	}
	session := m.sessions.find(c.Session)
	return session == 0 || m.links.find(o, h, session) == 0
}

// firstListed returns the first link that the page shows, zero where it shows none.
func (m *Machine) firstListed(o *object, opts *DescribeOptions) handle {
	switch {
	case !opts.Owners && !opts.Waiters:
		return 0
	case !opts.Owners:
		w := o.firstWaiter
		if w == 0 || m.links.at(w).order > opts.After {
			return w
		}
	}
	return m.linkAfter(o.links, opts.After)
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
		v.Timeout = l.timeout
	}
	return v
}

func pageLimit(asked int) int {
	if asked <= 0 || asked > MaxPage {
		return MaxPage
	}
	return asked
}
