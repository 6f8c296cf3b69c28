package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// timeOut takes the waiters of a list out of their queues.
func (sem *semaphores) timeOut(m *Machine, c *shard.Command) {
	for i := range c.Waiters {
		if m.left <= 0 {
			m.answerMore(true)
			return
		}
		sem.timeOutOne(m, &c.Waiters[i])
	}
	m.answer(protocol.StatusSuccess)
}

func (sem *semaphores) timeOutOne(m *Machine, w *shard.WaiterRef) {
	object := m.objects.alive(shard.KindSemaphore, w.Node, w.Name)
	session := m.sessions.alive(w.Session)
	if object == 0 || session == 0 {
		return
	}
	h := m.links.find(m.objects.At(object), object, session)
	if h == 0 {
		return
	}
	l := m.links.At(h)
	if l.owner || l.order != w.Order || l.number != w.Number {
		return
	}
	m.emitFor(shard.EffectTimedOut, h)
	m.recordOutcome(session, l.number, answer{})
	wasHead := m.objects.At(object).firstWaiter == h
	m.removeLink(h)
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
	for end := min(h+shard.MaxPage, m.links.End()); h < end; h++ {
		l := m.links.At(h)
		if l.order == 0 || l.owner || l.timeout == waitForever {
			continue
		}
		o := m.objects.At(l.object)
		if o.kind != shard.KindSemaphore || o.deleting || m.sessions.At(l.session).ending {
			continue
		}
		fn(Waiter{
			WaiterRef: shard.WaiterRef{
				Node: m.objects.node(o).id, Name: []byte(m.objects.name(o)), Session: m.sessions.At(l.session).id,
				Order: l.order, Number: l.number,
			},
			Timeout: l.timeout.millis(),
		})
	}
	return shard.Cursor(h), h >= m.links.End()
}

// WaitersOf appends the waiting acquires of a session behind an order id, in order of order id. It looks at MaxPage
// links at most: where there are more, the next page is behind last.
func (m *Machine) WaitersOf(id shard.SessionID, after shard.OrderID, dst []shard.WaiterRef) (_ []shard.WaiterRef,
	last shard.OrderID, more bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	session := m.sessions.alive(id)
	if session == 0 {
		return dst, after, false
	}
	h := m.linkBehind(session, after)
	for looked := 0; h != 0 && looked < shard.MaxPage; looked++ {
		l := m.links.At(h)
		if o := m.objects.At(l.object); o.kind == shard.KindSemaphore && !l.owner && !o.deleting {
			dst = append(dst, shard.WaiterRef{
				Node: m.objects.node(o).id, Name: []byte(m.objects.name(o)), Session: id,
				Order: l.order, Number: l.number,
			})
		}
		after, h = l.order, m.links.bySession.Next(h)
	}
	return dst, after, h != 0
}
