package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// view: a semaphore is watched as a whole.
func (sem *semaphores) view(m *Core, object arena.Handle, name string) (view, bool) {
	return view{track: &m.Objects.At(object).track}, name == ""
}

func (sem *semaphores) role(l *link) string {
	if l.owner {
		return "owner"
	}
	return "waiter"
}

// describe fills in the view of a semaphore, and its links in the place of rows.
func (sem *semaphores) describe(m *Core, object arena.Handle, _ view, o described, d *shard.Description) {
	ob := m.Objects.At(object)
	name := d.Name
	d.SemaphoreView = sem.shown(ob, o.had)
	d.Name = name
	limit := pageLimit(o.Limit)
	for l := m.firstListed(ob, o); l != 0; l = m.Holdings.byObject.Next(l) {
		v := m.Holdings.At(l)
		if !v.owner && !o.Waiters {
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

// changes finds the present owners among the changed order ids. All other ids are gone.
func (sem *semaphores) changes(m *Core, object arena.Handle, _ view, since shard.Revision, d *shard.Delta) bool {
	o := m.Objects.At(object)
	gone := d.Gone[:0]
	for _, order := range d.Gone {
		if l := m.Holdings.After(o.links, order-1); l != 0 && m.Holdings.At(l).order == order {
			d.Joined = append(d.Joined, m.Holdings.View(m.Holdings.At(l), ""))
		} else {
			gone = append(gone, order)
		}
	}
	d.Gone = gone
	s := sem.At(o.body)
	if s.dataRevision > since {
		d.DataChanged, d.Data = true, sem.texts.String(s.data)
	}
	if s.limitRevision > since {
		d.Limit = s.limit
	}
	return true
}

// firstListed returns the first link of the page, or zero.
func (co *Core) firstListed(o *object, opts described) arena.Handle {
	switch {
	case !opts.Owners && !opts.Waiters:
		return 0
	case !opts.Owners:
		w := o.firstWaiter
		if w == 0 || co.Holdings.At(w).order > opts.After {
			return w
		}
	}
	return co.Holdings.After(o.links, opts.After)
}

// ListSemaphores appends the semaphores of the node whose names begin with prefix and come behind after, in order of
// name. ListSemaphores appends at most limit semaphores and looks at no more than MaxPage objects. last is the last
// name looked at: the after of the next call, if there is more.
func (m *Machine) ListSemaphores(n shard.NodeID, prefix, after string, limit int,
	dst []shard.SemaphoreView) (_ []shard.SemaphoreView, last string, more bool) {
	sem := m.core.semaphores()
	last, more = m.walkNames(n, prefix, after, limit, func(o *object) bool {
		if o.kind != shard.KindSemaphore {
			return false
		}
		v := sem.shown(o, "")
		v.Name = m.core.Objects.name(o)
		dst = append(dst, v)
		return true
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
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, m.core.Objects.End()); h < end; h++ {
		o := m.core.Objects.At(h)
		if o.node == 0 || o.kind != shard.KindSemaphore || o.firstWaiter == 0 || o.deleting {
			continue
		}
		s, first := m.core.semaphores().At(o.body), m.core.Holdings.At(o.firstWaiter)
		q := Queue{
			Node: m.core.Objects.node(o).id, Name: m.core.Objects.name(o),
			Waiters: int(o.linkCount) - int(s.owners), Since: first.since,
			First: m.core.Sessions.At(first.session).id,
		}
		if l := m.core.Holdings.At(m.core.Holdings.After(o.links, 0)); l.owner {
			q.Owner = m.core.Sessions.At(l.session).id
		}
		fn(q)
	}
	return shard.Cursor(h), h >= m.core.Objects.End()
}
