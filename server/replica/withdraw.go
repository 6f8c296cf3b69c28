package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// Withdrawn is the result for clients that have lost the right to something open.
var Withdrawn = protocol.Result{
	Status: protocol.StatusUnauthorized, Message: "the token no longer has the permission",
}

// Withdraw ends everything in the shard a session has open over a connection whose client has lost the right:
// inboxes, one-shot watches, and waiting acquires. The session keeps its semaphores, and may release them. The caller
// flushes.
func (r *Replica) Withdraw(id shard.SessionID, c Conn) {
	r.Inboxes.EndUnless(id, c, func(of shard.ObjectName) bool { return c.May(protocol.KindInboxOpen, of) }, Withdrawn)
	r.OneShots.withdraw(id, c)
	r.waits.withdrawAll(id, c)
}

// withdraw ends one-shot watches: the notified client reads the object, and is refused.
func (osw *OneShotWatches) withdraw(id shard.SessionID, c Conn) {
	if osw.watching.Load() == 0 {
		return
	}
	osw.r.mu.Lock()
	defer osw.unlockFired()
	osw.watches.DropWhere(id, func(ref watchRef) bool {
		if ref.conn != c || c.May(protocol.KindSemaphoreDescribe, ref.of) {
			return false
		}
		osw.fire(ref, false, false)
		return true
	})
}

// withdrawAll removes waiting acquires from their queues, as if their wait time had passed.
func (wa *waits) withdrawAll(id shard.SessionID, c Conn) {
	if !wa.r.Leads() {
		return
	}
	var refs []shard.WaiterRef
	for last, more := shard.OrderID(0), true; more; {
		refs, last, more = semaphore.WaitersOf(wa.r.Machine, id, last, refs[:0])
		for i := range refs {
			wa.withdraw(&refs[i], c)
		}
	}
}

// withdraw removes a waiting acquire from its queue, unless the client has the right to wait. The client gets the
// outcome when the outcome is certain, because the acquire may have been granted meanwhile.
func (wa *waits) withdraw(ref *shard.WaiterRef, c Conn) {
	if c.May(protocol.KindAcquire, shard.ObjectName{Node: ref.Node, Name: protocol.Text(ref.Name)}) {
		return
	}
	wa.r.mu.Lock()
	here := wa.waiters.withdraw(ref.Session, ref.Number, c)
	wa.r.mu.Unlock()
	if here {
		wa.r.leader.withdraw(*ref)
	}
}
