package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// addWaiter adds the waiter of a queued acquire, or notifies the waiter at once that the outcome will come from
// another host. The end of a leadership is noted before it goes through the waiters. So either the end finds the new
// waiter, or the check here finds the end.
func (r *Replica) addWaiter(id shard.SessionID, w waiting) {
	r.putWaiter(id, w)
	if r.Leads() {
		return
	}
	if w, ok := r.takeWaiter(id, w.number); ok {
		w.conn.Push(w.request, &protocol.Aborted{Result: r.set.Moved(r)})
	}
}

// putWaiter adds a waiter. A repeated acquire replaces its earlier entry.
func (r *Replica) putWaiter(id shard.SessionID, w waiting) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !w.conn.Acts(id) {
		return // its connection or its session has gone, and its waits as well
	}
	r.waiters.add(id, w)
}

// takeWaiter removes a waiter and returns it.
func (r *Replica) takeWaiter(id shard.SessionID, number uint64) (w waiting, ok bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.waiters.take(id, number)
}

// completeWait sends the outcome of a queued acquire.
func (r *Replica) completeWait(e *shard.Effect) {
	r.mu.Lock()
	r.timers.remove(waiterKey{e.Session, e.Order})
	r.mu.Unlock()
	w, ok := r.takeWaiter(e.Session, e.Number)
	if !ok {
		return
	}
	switch e.Kind {
	case shard.EffectGranted:
		r.granted.OrderID = uint64(e.Order)
		w.conn.Push(w.request, &r.granted)
		r.set.metrics.Acquire.Observe(r.set.Clock() - w.since)
	case shard.EffectTimedOut:
		if w.withdrawn {
			r.aborted = protocol.Aborted{Result: Withdrawn}
			w.conn.Push(w.request, &r.aborted)
			break
		}
		w.conn.Push(w.request, &r.timedOut)
	case shard.EffectAborted:
		r.aborted = protocol.Aborted{Result: protocol.Result{Status: protocol.StatusAborted,
			Reason: r.abortReason(e, e.Abort)}}
		w.conn.Push(w.request, &r.aborted)
	}
	r.Mark(w.conn)
}

// redirectWaiters notifies all waiters of this host that the outcome will come from another host.
func (r *Replica) redirectWaiters(result protocol.Result) {
	r.mu.Lock()
	all := r.waiters
	r.waiters.init()
	r.timers.init()
	r.mu.Unlock()
	push := protocol.Aborted{Result: result}
	answered := make(map[Conn]struct{}) // a connection is flushed once, however many waits it has
	for _, w := range all.byNumber {
		w.conn.Push(w.request, &push)
		answered[w.conn] = struct{}{}
	}
	for c := range answered {
		c.Flush(false)
	}
}

// forgetWaits drops the waits of a session through one connection.
func (r *Replica) forgetWaits(id shard.SessionID, c Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters.drop(id, c)
}

// forgetSession drops all waits of a session that has ended, with their timers.
func (r *Replica) forgetSession(id shard.SessionID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.waiters.drop(id, nil)
	r.timers.drop(id)
}

// startTimer starts the timer of a waiting acquire, if this host leads the shard.
func (r *Replica) startTimer(c *shard.Command, e *shard.Effect) {
	if e.Timeout == shard.Forever {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.Leads() { // the end of a leadership is noted before it drops all timers
		return
	}
	r.timers.add(shard.WaiterRef{
		Node: c.Node, Name: append([]byte(nil), c.Name...), Session: c.Session, Order: e.Order, Number: c.Number,
	}, r.set.Now().Add(millis(e.Timeout)))
}

func millis(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }
