package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// timeOut takes the waiters of a list out of their queues.
func (sem *semaphores) timeOut(m *Core, c *shard.Command) {
	for i := range c.Waiters {
		if m.Run.Left <= 0 {
			m.Run.AnswerMore(true)
			return
		}
		sem.timeOutOne(m, &c.Waiters[i])
	}
	m.Run.Answer(protocol.StatusSuccess)
}

func (sem *semaphores) timeOutOne(m *Core, w *shard.WaiterRef) {
	object := m.Objects.Alive(shard.KindSemaphore, w.Node, w.Name)
	session := m.Sessions.Alive(w.Session)
	if object == 0 || session == 0 {
		return
	}
	h := m.Holdings.Find(m.Objects.At(object), object, session)
	if h == 0 {
		return
	}
	l := m.Holdings.At(h)
	if l.Owner || l.Order != w.Order || l.Number != w.Number {
		return
	}
	m.Holdings.NotifyTimedOut(h)
	wasHead := m.Objects.At(object).FirstWaiter == h
	m.Holdings.Remove(h)
	sem.afterRemoval(m, object, false, wasHead)
}

// Waiter is a waiting acquire with a finite timeout.
type Waiter struct {
	shard.WaiterRef
	Timeout uint64 // milliseconds
}

// WalkWaiters calls fn for the waiters of finite timeout, as WalkSessions does: a new leader starts
// their timers anew.
func (m *Machine) WalkWaiters(at shard.Cursor, fn func(Waiter)) (next shard.Cursor, over bool) {
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
// links at most: where there are more, the next page is behind last.
func (m *Machine) WaitersOf(id shard.SessionID, after shard.OrderID, dst []shard.WaiterRef) (_ []shard.WaiterRef,
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
