package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Withdrawn is sent to clients for what they have open and have no right to any more.
var Withdrawn = protocol.Result{
	Status: protocol.StatusUnauthorized, Message: "the token does not give the right to this any more",
}

// Withdraw ends what a session has open in the shard over a connection whose client has no right to it any more:
// inboxes, one-shot watches, and acquires that wait. What the session owns it keeps, and it may give that back. The
// caller flushes.
func (r *Replica) Withdraw(id shard.SessionID, c Conn) {
	r.Inboxes.EndUnless(id, c, func(of shard.ObjectName) bool { return c.May(protocol.KindInboxOpen, of) }, Withdrawn)
	r.withdrawWatches(id, c)
	r.withdrawWaits(id, c)
}

// withdrawWatches ends one-shot watches: a client that hears of a change looks at the object, and is refused.
func (r *Replica) withdrawWatches(id shard.SessionID, c Conn) {
	if r.watching.Load() == 0 {
		return
	}
	r.mu.Lock()
	defer r.unlockFired()
	r.watches.DropWhere(id, func(ref watchRef) bool {
		if ref.conn != c || c.May(protocol.KindSemaphoreDescribe, ref.of) {
			return false
		}
		r.fire(ref, false, false)
		return true
	})
}

// withdrawWaits takes acquires that wait out of their queues, as though their time was up.
func (r *Replica) withdrawWaits(id shard.SessionID, c Conn) {
	if !r.Leads() {
		return
	}
	var refs []shard.WaiterRef
	for last, more := shard.OrderID(0), true; more; {
		refs, last, more = r.Machine.WaitersOf(id, last, refs[:0])
		for i := range refs {
			r.withdrawWait(&refs[i], c)
		}
	}
}

// withdrawWait takes one that waits out of its queue, unless its client has the right to wait. The client hears of the
// outcome once it is certain: it may be that the acquire was granted meanwhile.
func (r *Replica) withdrawWait(ref *shard.WaiterRef, c Conn) {
	if c.May(protocol.KindAcquire, shard.ObjectName{Node: ref.Node, Name: protocol.Text(ref.Name)}) {
		return
	}
	r.mu.Lock()
	here := r.waiters.withdraw(ref.Session, ref.Number, c)
	r.mu.Unlock()
	if here {
		r.leader.withdraw(*ref)
	}
}
