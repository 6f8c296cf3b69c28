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
	object := m.Objects.alive(shard.KindSemaphore, w.Node, w.Name)
	session := m.Sessions.alive(w.Session)
	if object == 0 || session == 0 {
		return
	}
	h := m.Holdings.find(m.Objects.At(object), object, session)
	if h == 0 {
		return
	}
	l := m.Holdings.At(h)
	if l.owner || l.order != w.Order || l.number != w.Number {
		return
	}
	m.Holdings.Emit(shard.EffectTimedOut, h)
	m.Answers.Record(session, l.number, answer{})
	wasHead := m.Objects.At(object).firstWaiter == h
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
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, m.core.Holdings.End()); h < end; h++ {
		l := m.core.Holdings.At(h)
		if l.order == 0 || l.owner || l.timeout == waitForever {
			continue
		}
		o := m.core.Objects.At(l.object)
		if o.kind != shard.KindSemaphore || o.deleting || m.core.Sessions.At(l.session).ending {
			continue
		}
		fn(Waiter{
			WaiterRef: shard.WaiterRef{
				Node: m.core.Objects.node(o).id, Name: []byte(m.core.Objects.name(o)),
				Session: m.core.Sessions.At(l.session).id,
				Order:   l.order, Number: l.number,
			},
			Timeout: l.timeout.millis(),
		})
	}
	return shard.Cursor(h), h >= m.core.Holdings.End()
}

// WaitersOf appends the waiting acquires of a session behind an order id, in order of order id. It looks at MaxPage
// links at most: where there are more, the next page is behind last.
func (m *Machine) WaitersOf(id shard.SessionID, after shard.OrderID, dst []shard.WaiterRef) (_ []shard.WaiterRef,
	last shard.OrderID, more bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	session := m.core.Sessions.alive(id)
	if session == 0 {
		return dst, after, false
	}
	h := m.core.Holdings.behind(session, after)
	for looked := 0; h != 0 && looked < shard.MaxPage; looked++ {
		l := m.core.Holdings.At(h)
		if o := m.core.Objects.At(l.object); o.kind == shard.KindSemaphore && !l.owner && !o.deleting {
			dst = append(dst, shard.WaiterRef{
				Node: m.core.Objects.node(o).id, Name: []byte(m.core.Objects.name(o)), Session: id,
				Order: l.order, Number: l.number,
			})
		}
		after, h = l.order, m.core.Holdings.bySession.Next(h)
	}
	return dst, after, h != 0
}
