package semaphore

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// timeOut removes the waiters of a list from their queues, each a piece of work of the command.
func (sem *semaphores) timeOut(co *machine.Core, c *shard.Command) machine.Outcome {
	for i := range c.Waiters {
		if co.Run.Left <= 0 {
			return machine.Partly(true)
		}
		sem.timeOutOne(co, &c.Waiters[i])
	}
	return machine.Outcome{}
}

// timeOutOne removes a waiter, unless it is granted, gone, or waits with another acquire meanwhile.
func (sem *semaphores) timeOutOne(co *machine.Core, w *shard.WaiterRef) {
	object := co.Objects.Alive(shard.KindSemaphore, w.Node, w.Name)
	session := co.Sessions.Alive(w.Session)
	if object == 0 || session == 0 {
		return
	}
	h := co.Holdings.Find(co.Objects.At(object), object, session)
	if h == 0 {
		return
	}
	l := co.Holdings.At(h)
	if l.Owner || l.Order != w.Order || l.Number != w.Number {
		return
	}
	co.Holdings.NotifyTimedOut(h)
	wasHead := co.Objects.At(object).FirstWaiter == h
	co.Holdings.Remove(h)
	sem.afterRemoval(co, object, false, wasHead)
}

// Waiter is a waiting acquire with a finite timeout.
type Waiter struct {
	shard.WaiterRef
	Timeout uint64 // milliseconds
}

// WalkWaiters calls fn for the waiters of finite timeout, as WalkSessions does: a new leader starts
// their timers anew.
func WalkWaiters(m *machine.Machine, at shard.Cursor, fn func(Waiter)) (next shard.Cursor, over bool) {
	co := m.RLock()
	defer m.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, co.Holdings.End()); h < end; h++ {
		l := co.Holdings.At(h)
		if l.Order == 0 || l.Owner || l.Timeout() == shard.Forever {
			continue
		}
		o := co.Objects.At(l.Object)
		if o.Kind != shard.KindSemaphore || o.Deleting || co.Sessions.Ended(l.Session) {
			continue
		}
		fn(Waiter{
			WaiterRef: shard.WaiterRef{
				Node: co.Objects.Node(o).ID, Name: []byte(co.Objects.Name(o)),
				Session: co.Sessions.ID(l.Session),
				Order:   l.Order, Number: l.Number,
			},
			Timeout: l.Timeout(),
		})
	}
	return shard.Cursor(h), h >= co.Holdings.End()
}

// WaitersOf appends the waiting acquires of a session behind an order id, in order of order id. It looks at MaxPage
// holdings at most; if there are more, the next page is behind last.
func WaitersOf(m *machine.Machine, id shard.SessionID, after shard.OrderID, dst []shard.WaiterRef) (_ []shard.WaiterRef,
	last shard.OrderID, more bool) {
	co := m.RLock()
	defer m.RUnlock()
	session := co.Sessions.Alive(id)
	if session == 0 {
		return dst, after, false
	}
	h := co.Holdings.Behind(session, after)
	for looked := 0; h != 0 && looked < shard.MaxPage; looked++ {
		l := co.Holdings.At(h)
		if o := co.Objects.At(l.Object); o.Kind == shard.KindSemaphore && !l.Owner && !o.Deleting {
			dst = append(dst, shard.WaiterRef{
				Node: co.Objects.Node(o).ID, Name: []byte(co.Objects.Name(o)), Session: id,
				Order: l.Order, Number: l.Number,
			})
		}
		after, h = l.Order, co.Holdings.NextOfSession(h)
	}
	return dst, after, h != 0
}
