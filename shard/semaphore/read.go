package semaphore

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// View returns a semaphore's only view, which is watched as a whole.
func (sem *semaphores) View(co *machine.Core, object arena.Handle, name string) (machine.View, bool) {
	return co.Objects.View(object), name == ""
}

// Role reports whether a holding's session owns the semaphore or waits for it.
func (sem *semaphores) Role(l *machine.Holding) string {
	if l.Owner {
		return "owner"
	}
	return "waiter"
}

// Describe fills in the semaphore's view, with its holdings instead of rows.
func (sem *semaphores) Describe(co *machine.Core, object arena.Handle, _ machine.View, o machine.Described,
	d *shard.Description) {
	ob := co.Objects.At(object)
	name := d.Name
	d.SemaphoreView = sem.shown(ob, o.Had)
	d.Name = name
	limit := machine.PageLimit(o.Limit)
	for l := firstListed(co, ob, o); l != 0; l = co.Holdings.Next(l) {
		v := co.Holdings.At(l)
		if !v.Owner && !o.Waiters {
			break
		}
		if len(d.Links) == limit {
			d.More = true
			break
		}
		had := "" // from the description that d was before, usually on the same page
		if n := len(d.Links); n < cap(d.Links) {
			had = d.Links[:n+1][n].Data
		}
		d.Links = append(d.Links, co.Holdings.View(v, had))
	}
}

// Changes finds the present owners among the changed order ids. All other ids are gone.
func (sem *semaphores) Changes(co *machine.Core, object arena.Handle, _ machine.View, since shard.Revision,
	d *shard.Delta) bool {
	o := co.Objects.At(object)
	gone := d.Gone[:0]
	for _, order := range d.Gone {
		if l := co.Holdings.After(o, order-1); l != 0 && co.Holdings.At(l).Order == order {
			d.Joined = append(d.Joined, co.Holdings.View(co.Holdings.At(l), ""))
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

// firstListed returns the page's first holding, or zero. A reader may ask for owners, for waiters, or for both.
func firstListed(co *machine.Core, o *machine.Object, opts machine.Described) arena.Handle {
	switch {
	case !opts.Owners && !opts.Waiters:
		return 0
	case !opts.Owners:
		w := o.FirstWaiter
		if w == 0 || co.Holdings.At(w).Order > opts.After {
			return w
		}
	}
	return co.Holdings.After(o, opts.After)
}

// List appends the node's semaphores that have names beginning with prefix and sorted behind after, in name order. It
// appends at most limit semaphores and looks at no more than MaxPage objects. last is the last name looked at: the
// after argument for the next call, if there is more.
func List(m *machine.Machine, n shard.NodeID, prefix, after string, limit int,
	dst []shard.SemaphoreView) (_ []shard.SemaphoreView, last string, more bool) {
	last, more = m.WalkNames(shard.KindSemaphore, n, prefix, after, limit, func(co *machine.Core, o *machine.Object) {
		v := semaphoresOf(co).shown(o, "")
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
	// First is the session with the longest wait, since a wall clock time in milliseconds; 0 if unknown. Owner is the
	// session with the longest ownership, 0 without an owner.
	First, Owner shard.SessionID
	Since        uint64
}

// WalkQueues calls fn for semaphores with waiters, as WalkSessions does for sessions.
func WalkQueues(m *machine.Machine, at shard.Cursor, fn func(Queue)) (next shard.Cursor, over bool) {
	co := m.RLock()
	defer m.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, co.Objects.End()); h < end; h++ {
		o := co.Objects.At(h)
		if o.Kind != shard.KindSemaphore || o.FirstWaiter == 0 || o.Deleting {
			continue
		}
		s, first := semaphoresOf(co).At(o.State), co.Holdings.At(o.FirstWaiter)
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
