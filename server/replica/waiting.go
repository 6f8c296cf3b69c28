package replica

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// waits are the acquires of the host's clients that wait in the shard's queues.
type waits struct {
	r       *Replica
	waiters waiters // guarded by Replica.mu
}

// add adds a queued acquire's waiter, or notifies the waiter at once that the outcome will come from a remote host.
// The end of a leadership is recorded before it visits the waiters. So either the end finds the new waiter, or the
// check here finds the end.
func (wa *waits) add(id shard.SessionID, w waiting) {
	wa.put(id, w)
	if wa.r.Leads() {
		return
	}
	if w, ok := wa.take(id, w.number); ok {
		w.conn.Push(w.request, &protocol.Aborted{Result: wa.r.set.Moved(wa.r)})
	}
}

// put adds a waiter. A repeated acquire replaces its earlier entry.
func (wa *waits) put(id shard.SessionID, w waiting) {
	wa.r.mu.Lock()
	defer wa.r.mu.Unlock()
	if !w.conn.Acts(id) {
		return // its connection or session has gone, and its waits too
	}
	wa.waiters.add(id, w)
}

// take removes a waiter and returns it.
func (wa *waits) take(id shard.SessionID, number uint64) (w waiting, ok bool) {
	wa.r.mu.Lock()
	defer wa.r.mu.Unlock()
	return wa.waiters.take(id, number)
}

// complete sends a queued acquire's outcome.
func (wa *waits) complete(e *shard.Effect) {
	w, ok := wa.take(e.Session, e.Number)
	if !ok {
		return
	}
	switch e.Kind {
	case shard.EffectGranted:
		wa.r.granted.OrderID = uint64(e.Order)
		w.conn.Push(w.request, &wa.r.granted)
		wa.r.set.metrics.Acquire.Observe(wa.r.set.Clock() - w.since)
	case shard.EffectTimedOut:
		if w.withdrawn {
			wa.r.aborted = protocol.Aborted{Result: Withdrawn}
			w.conn.Push(w.request, &wa.r.aborted)
			break
		}
		w.conn.Push(w.request, &wa.r.timedOut)
	case shard.EffectAborted:
		wa.r.aborted = protocol.Aborted{Result: protocol.Result{Status: protocol.StatusAborted,
			Reason: wa.r.abortReason(e, e.Abort)}}
		w.conn.Push(w.request, &wa.r.aborted)
	}
	wa.r.Mark(w.conn)
}

// redirect notifies all waiters on the local host that the outcome will come from a remote host.
func (wa *waits) redirect(result protocol.Result) {
	wa.r.mu.Lock()
	all := wa.waiters.takeUnless(func(shard.Slot) bool { return false })
	wa.r.mu.Unlock()
	abortAll(all, result)
}

// leave notifies the waiters for a slot that their outcomes will come from another shard.
func (wa *waits) leave(slot shard.Slot, result protocol.Result) {
	wa.r.mu.Lock()
	all := wa.waiters.takeUnless(func(s shard.Slot) bool { return s != slot })
	wa.r.mu.Unlock()
	abortAll(all, result)
}

func abortAll(all []waiting, result protocol.Result) {
	push := protocol.Aborted{Result: result}
	answered := make(map[Conn]struct{}) // flush every connection once, however many waits it has
	for _, w := range all {
		w.conn.Push(w.request, &push)
		answered[w.conn] = struct{}{}
	}
	for c := range answered {
		c.Flush(false)
	}
}

// forget drops a session's waits through one connection, or all of them if c is nil.
func (wa *waits) forget(id shard.SessionID, c Conn) {
	wa.r.mu.Lock()
	defer wa.r.mu.Unlock()
	wa.waiters.drop(id, c)
}

// forgetSession drops all waits of an ended session.
func (wa *waits) forgetSession(id shard.SessionID) { wa.forget(id, nil) }

func millis(n uint64) time.Duration { return time.Duration(n) * time.Millisecond }
