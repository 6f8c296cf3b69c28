package semaphore

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// Due ends a waiter's wait after the timeout has passed.
func (sem *semaphores) Due(co *machine.Core, object, waiter arena.Handle) {
	co.Holdings.NotifyTimedOut(waiter)
	wasHead := co.Objects.At(object).FirstWaiter == waiter
	co.Holdings.Remove(waiter)
	sem.afterRemoval(co, object, false, wasHead)
}

// runWithdraw ends a waiter's wait, unless the waiter is granted, gone, or waits with a newer acquire.
func runWithdraw(co *machine.Core, c *shard.Command) machine.Outcome {
	object, session := co.Objects.Alive(shard.KindSemaphore, c.Node, c.Name), co.Sessions.Alive(c.Session)
	if object == 0 || session == 0 {
		return machine.Outcome{}
	}
	h := co.Holdings.Find(co.Objects.At(object), object, session)
	if h == 0 {
		return machine.Outcome{}
	}
	if l := co.Holdings.At(h); !l.Owner && l.Order == c.Order && l.Number == c.Number {
		semaphoresOf(co).Due(co, object, h)
	}
	return machine.Outcome{}
}

// WaitersOf appends a session's waiting acquires behind an order id, in order-id order. At most MaxPage holdings are
// looked at; if there are more, the next page is behind last.
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
