package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// Withdrawn is the result for clients that have lost the right to something open.
var Withdrawn = protocol.Result{
	Status: protocol.StatusUnauthorized, Message: "the token does not give the right to this any more",
}

// Withdraw ends everything in the shard that a session has open over a connection whose client has lost the right:
// inboxes, one-shot watches, and waiting acquires. The session keeps the semaphores that it owns, and may release
// them. The caller flushes.
func (r *Replica) Withdraw(id shard.SessionID, c Conn) {
	r.Inboxes.EndUnless(id, c, func(of shard.ObjectName) bool { return c.May(protocol.KindInboxOpen, of) }, Withdrawn)
	r.withdrawWatches(id, c)
	r.withdrawWaits(id, c)
}

// withdrawWatches ends one-shot watches: the notified client looks at the object, and is refused.
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

// withdrawWaits removes acquires that wait from their queues, as if their time were up.
func (r *Replica) withdrawWaits(id shard.SessionID, c Conn) {
	if !r.Leads() {
		return
	}
	var refs []shard.WaiterRef
	for last, more := shard.OrderID(0), true; more; {
		refs, last, more = semaphore.WaitersOf(r.Machine, id, last, refs[:0])
		for i := range refs {
			r.withdrawWait(&refs[i], c)
		}
	}
}

// withdrawWait removes a waiting acquire from its queue, unless the client has the right to wait. The client gets the
// outcome once the outcome is certain: the acquire may have been granted meanwhile.
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
