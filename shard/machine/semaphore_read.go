package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// View: a semaphore is watched as a whole.
func (sem *semaphores) View(m *Core, object arena.Handle, name string) (View, bool) {
	return m.Objects.View(object), name == ""
}

func (sem *semaphores) Role(l *Holding) string {
	if l.Owner {
		return "owner"
	}
	return "waiter"
}

// Describe fills in the view of a semaphore, and its links in the place of rows.
func (sem *semaphores) Describe(m *Core, object arena.Handle, _ View, o Described, d *shard.Description) {
	ob := m.Objects.At(object)
	name := d.Name
	d.SemaphoreView = sem.shown(ob, o.Had)
	d.Name = name
	limit := PageLimit(o.Limit)
	for l := firstListed(m, ob, o); l != 0; l = m.Holdings.Next(l) {
		v := m.Holdings.At(l)
		if !v.Owner && !o.Waiters {
			break
		}
		if len(d.Links) == limit {
			d.More = true
			break
		}
		had := "" // by the description that d was before, mostly of the same page
		if n := len(d.Links); n < cap(d.Links) {
			had = d.Links[:n+1][n].Data
		}
		d.Links = append(d.Links, m.Holdings.View(v, had))
	}
}

// Changes finds the present owners among the changed order ids. All other ids are gone.
func (sem *semaphores) Changes(m *Core, object arena.Handle, _ View, since shard.Revision, d *shard.Delta) bool {
	o := m.Objects.At(object)
	gone := d.Gone[:0]
	for _, order := range d.Gone {
		if l := m.Holdings.After(o, order-1); l != 0 && m.Holdings.At(l).Order == order {
			d.Joined = append(d.Joined, m.Holdings.View(m.Holdings.At(l), ""))
		} else {
			gone = append(gone, order)
		}
	}
	d.Gone = gone
	s := sem.At(o.State)
	if s.dataRevision > since {
		d.DataChanged, d.Data = true, sem.texts.String(s.data)
	}
	if s.limitRevision > since {
		d.Limit = s.limit
	}
	return true
}

// firstListed returns the first link of the page, or zero.
func firstListed(m *Core, o *Object, opts Described) arena.Handle {
	switch {
	case !opts.Owners && !opts.Waiters:
		return 0
	case !opts.Owners:
		w := o.FirstWaiter
		if w == 0 || m.Holdings.At(w).Order > opts.After {
			return w
		}
	}
	return m.Holdings.After(o, opts.After)
}

// ListSemaphores appends the semaphores of the node whose names begin with prefix and come behind after, in order of
// name. ListSemaphores appends at most limit semaphores and looks at no more than MaxPage objects. last is the last
// name looked at: the after of the next call, if there is more.
func (m *Machine) ListSemaphores(n shard.NodeID, prefix, after string, limit int,
	dst []shard.SemaphoreView) (_ []shard.SemaphoreView, last string, more bool) {
	last, more = m.WalkNames(shard.KindSemaphore, n, prefix, after, limit, func(co *Core, o *Object) {
		v := co.semaphores().shown(o, "")
		v.Name = co.Objects.Name(o)
		dst = append(dst, v)
	})
	return dst, last, more
}

// Queue is a semaphore with waiters.
type Queue struct {
	Node    shard.NodeID
	Name    string
	Waiters int
	// First is the session with the longest wait, since a time of the wall clock in milliseconds; 0 if unknown. Owner
	// is the session with the longest ownership, 0 without an owner.
	First, Owner shard.SessionID
	Since        uint64
}

// WalkQueues calls fn for semaphores with waiters, as WalkSessions does for sessions.
func (m *Machine) WalkQueues(at shard.Cursor, fn func(Queue)) (next shard.Cursor, over bool) {
	co := m.RLock()
	defer m.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, co.Objects.End()); h < end; h++ {
		o := co.Objects.At(h)
		if o.Kind != shard.KindSemaphore || o.FirstWaiter == 0 || o.Deleting {
			continue
		}
		s, first := co.semaphores().At(o.State), co.Holdings.At(o.FirstWaiter)
		q := Queue{
			Node: co.Objects.Node(o).ID, Name: co.Objects.Name(o),
			Waiters: int(o.Held) - int(s.owners), Since: first.Since,
			First: co.Sessions.ID(first.Session),
		}
		if l := co.Holdings.At(co.Holdings.After(o, 0)); l.Owner {
			q.Owner = co.Sessions.ID(l.Session)
		}
		fn(q)
	}
	return shard.Cursor(h), h >= co.Objects.End()
}
