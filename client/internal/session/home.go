package session

import (
	"slices"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// attachedOver makes a connection the home once the attach is answered. sentAt is when the attach was sent. It runs in
// the goroutine that reads the connection.
func (in *Incarnation) attachedOver(to *conn.Conn, sequence uint64, sentAt lifecycle.Instant, lease *protocol.Lease) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.cause != nil || sequence != in.sequence || !to.AddSession(in.id, in) {
		return
	}
	if in.home != nil {
		in.removeHome()
	}
	for lost := range lease.Lost.All() { // before the attach extends the session's belief
		in.loseRebuilt(lost)
	}
	if in.returned != nil {
		close(in.returned)
		in.returned = nil
	}
	in.home, in.sent, in.since = to, sentAt, in.group.scope.Now()
	in.grace = conn.Millis(lease.GraceMillis)
	delete(in.bound, to)
	if in.timeout > 0 {
		to.AddTimeout(in.timeout)
		in.arm()
	}
	in.owner.Attached(in)
}

// removeHome detaches the session from its home and keeps the time that the home's pings have confirmed. The lock is
// held.
func (in *Incarnation) removeHome() {
	in.sent = in.base()
	if in.timeout > 0 {
		in.home.RemoveTimeout(in.timeout)
	}
	in.home, in.last = nil, in.home
}

// ConnectionLost implements conn.Session.
func (in *Incarnation) ConnectionLost(from *conn.Conn, why error) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.removeConn(from, why)
}

// Detached implements conn.Session.
func (in *Incarnation) Detached(from *conn.Conn, result *protocol.Result) {
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case from != in.home:
	case result.Status == protocol.StatusBadSession:
		in.end(Taken, result.Message)
		return
	case result.Status == protocol.StatusHeartbeatTimeout:
		if in.alive() {
			in.end(Expired, result.Message)
			in.stopAfterTimeout() // the host reports an end in progress, not a certain end
		}
		return
	}
	if result.Status == protocol.StatusMoved {
		in.group.cluster.Moved(&result.Moved, from)
	}
	from.RemoveSession(in.id, in)
	in.removeConn(from, result.Err())
}

// removeConn detaches the session from a connection: acquires that wait there must be sent again over the next
// connection. The lock is held.
func (in *Incarnation) removeConn(from *conn.Conn, why error) {
	if in.cause != nil {
		return
	}
	delete(in.bound, from)
	for _, q := range in.queues {
		if m := q.waiting; m != nil && m.conn == from {
			in.unobserve(m)
		}
	}
	for n := range in.notices {
		if n.conn == from {
			in.notify(n, false, false)
		}
	}
	for _, b := range in.inboxes {
		if b.conn == from {
			b.lost()
		}
	}
	in.verifyLeases()
	if from == in.home {
		in.removeHome()
		if in.timeout == 0 {
			in.end(Expired, "the connection of a session without a timeout was lost")
			return
		}
		in.owner.Detached(in, why)
		in.reattach()
	}
}

// unknownAt handles a host that does not know the session over a connection. It returns false after too many such
// responses.
func (in *Incarnation) unknownAt(from *conn.Conn, r *retry.Retries) bool {
	if !r.Unknown() {
		return false
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	if in.home == from || in.bound[from] != nil {
		from.RemoveSession(in.id, in)
		in.removeConn(from, protocol.ErrBadSession)
	}
	return true
}

// endings maps a host's end reasons.
var endings = map[protocol.EndReason]Reason{
	protocol.EndStopped:     Closed,
	protocol.EndExpired:     Expired,
	protocol.EndDestroyed:   Destroyed,
	protocol.EndNodeDropped: NodeDropped,
}

// Ended implements conn.Session. A reason from a later protocol version is unknown.
func (in *Incarnation) Ended(reason protocol.EndReason) { in.End(endings[reason], "") }

// loseRebuilt ends the leases that were lost in a rebuilt shard. No host in the shard is asked, because a host from the
// previous group could confirm lost leases. Such a host may still send grants. The lock is held.
func (in *Incarnation) loseRebuilt(lost protocol.LostHoldings) {
	if slices.ContainsFunc(in.lost, func(l protocol.LostHoldings) bool { return l.Fence == lost.Fence }) {
		return
	}
	lost.Slots = slices.Clone(lost.Slots)
	in.lost = append(in.lost, lost)
	for _, q := range in.queues {
		if q.lease != nil && in.isLost(q.name, q.lease.Order, 0) {
			in.giveUpLease(q)
		}
	}
}

// isLost reports whether a holding was lost in a rebuilt shard. known is the number of losses of which the client had
// heard before its first request for the holding. The lock is held.
func (in *Incarnation) isLost(name string, order uint64, known int) bool {
	for i := range in.lost {
		slot := protocol.SemaphoreSlot(in.nodeID, protocol.View(name))
		if in.lost[i].Have(uint64(slot), order, i >= known) {
			return true
		}
	}
	return false
}

// giveUpLease ends the lease in a queue, and releases the lease, because the session may still have it: the slot may be
// in another shard than the client believes. The lock is held.
func (in *Incarnation) giveUpLease(q *keyQueue) {
	order := q.lease.Order
	q.removeLease(failure.ErrLeaseLost)
	in.releaseLater(q.name, order)
	in.dropIfEmpty(q)
}

// HoldingLost implements conn.Session: the session no longer owns a semaphore. A loss without a name means that a shard
// was rebuilt, or that notices may have been missed, so the leases are verified.
func (in *Incarnation) HoldingLost(p *protocol.HoldingLost) {
	in.mu.Lock()
	defer in.mu.Unlock()
	if p.Reason == protocol.AbortNodeDropped && p.NodeID == in.nodeID {
		in.end(NodeDropped, "") // the home will say so too
		return
	}
	if len(p.Slots) > 0 {
		in.loseRebuilt(protocol.LostHoldings{Fence: p.OrderID, Slots: p.Slots})
		return
	}
	if len(p.Name) == 0 {
		in.verifyLeases()
		return
	}
	q := in.queues[string(p.Name)]
	if q == nil || p.NodeID != in.nodeID || !p.ObjectKind.IsSemaphore() {
		return // a holding in another object is not a lease: the kind's package watches the object
	}
	cause := failure.Lost(p.Reason)
	if q.lease != nil && q.lease.Order == p.OrderID {
		q.removeLease(cause)
		in.dropIfEmpty(q)
		return
	}
	q.early = earlyLoss{order: p.OrderID, cause: cause}
}
