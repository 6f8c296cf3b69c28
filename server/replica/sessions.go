package replica

import (
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// Sessions tracks a home shard's sessions over the host's connections, and the hosts that asked about sessions.
type Sessions struct {
	r *Replica
	// guarded by Replica.mu; may include the connection over which the session is attached
	bound          map[shard.SessionID][]Conn
	remoteSessions remoteSessions
}

// EndSession proposes to end a session immediately, on behalf of a connection's source or, if from is nil, the host
// itself.
func (r *Replica) EndSession(from *pipeline.Source, id shard.SessionID, flags shard.CommandFlags,
	done func(e *shard.Effect, failed protocol.Status)) {
	r.propose(&shard.Command{Kind: shard.CmdSessionEnd, Session: id, Flags: flags}, from, done)
}

// ended notifies a session's connections that the session has ended.
func (se *Sessions) ended(e *shard.Effect) {
	se.r.waits.forgetSession(e.Session)
	se.r.Inboxes.NoteSession(e.Session)
	if !se.r.slots.Has(e.Session.Slot()) || !se.r.reports() {
		return
	}
	se.r.set.HomeShards.reportEnd(se.r, e.Session, e.End)
	se.r.ended = protocol.SessionEnded{SessionID: uint64(e.Session), Reason: e.End}
	if holder := se.r.Leases.Remove(e.Session); holder != nil {
		if c, ok := holder.Owner.(Conn); ok {
			se.reportEnd(e.Session, c)
		}
		holder.Reported(1)
	}
	se.r.mu.Lock()
	bound := se.bound[e.Session]
	delete(se.bound, e.Session)
	se.r.mu.Unlock()
	for _, c := range bound {
		se.reportEnd(e.Session, c)
	}
	se.r.set.metrics.SessionEnded(e.End)
	for _, other := range se.r.set.Replicas {
		if other != se.r && other.Leads() {
			other.leader.over(e.Session)
		}
	}
}

func (se *Sessions) reportEnd(id shard.SessionID, c Conn) {
	if _, bound := c.Unbind(id); !bound {
		return
	}
	se.r.set.ForgetSession(id, c)
	c.Push(0, &se.r.ended)
	se.r.Mark(c)
}

// ForgetSession drops a session's waits and watches through one connection, in all shards.
func (s *Set) ForgetSession(id shard.SessionID, c Conn) {
	for _, r := range s.Replicas {
		r.waits.forget(id, c)
		r.Inboxes.Forget(id, c)
		r.OneShots.forgetSession(id, c)
	}
}

// reportLoss notifies an owner that its semaphore was deleted by force, or with its node.
func (se *Sessions) reportLoss(e *shard.Effect, why protocol.AbortReason) {
	home := se.r.set.Of(e.Session.Slot())
	se.r.lost = lostHolding{Shard: se.r.ID, Losses: e.Limit, HoldingLost: protocol.HoldingLost{
		SessionID: uint64(e.Session), NodeID: uint64(e.Node), Name: []byte(e.Name),
		OrderID: uint64(e.Order), Reason: why,
	}}
	if e.Object != shard.KindSemaphore {
		se.r.lost.ObjectKind = protocol.ObjectKind(e.Object)
	}
	switch {
	case !se.r.reports():
		return // reported by the hosts whose replicas count
	case se.r.Leads() && !se.r.set.HomeShards.hearsLosses(home, se.r):
		se.r.set.HomeShards.sendLoss(home, se.r.lost)
	}
	home.Sessions.notifyLoss(&se.r.lost, se.r.Mark)
}

// pushLoss sends a holding's loss over the connections of a session with this home shard, and flushes the
// connections. pushLoss returns whether there is a connection.
func (se *Sessions) pushLoss(lost *protocol.HoldingLost, flush func(Conn)) (sent bool) {
	id, over := shard.SessionID(lost.SessionID), Conn(nil)
	push := func(c Conn) {
		sent = true
		c.Push(0, lost)
		flush(c)
	}
	if holder := se.r.Leases.Holder(id); holder != nil {
		if c, ok := holder.Owner.(Conn); ok {
			over = c
			push(c)
		}
	}
	se.r.mu.Lock()
	bound := slices.Clone(se.bound[id])
	se.r.mu.Unlock()
	for _, c := range bound {
		if c != over {
			push(c)
		}
	}
	return sent
}

// detachSilent notifies a client that was silent for too long that its session is detached. The connection stays
// listed, to be notified when the session ends.
func (se *Sessions) detachSilent(id shard.SessionID, holder *lease.Holder) {
	if c, ok := holder.Owner.(Conn); ok {
		node, bound := c.Unbind(id)
		c.Push(0, &protocol.SessionDetached{SessionID: uint64(id), Result: protocol.Result{
			Status:  protocol.StatusHeartbeatTimeout,
			Message: "the client was silent for longer than the session's timeout",
		}})
		if bound && !se.Bind(id, node, true, c) {
			c.Unbind(id)
		}
		c.Flush(false)
	}
	holder.Reported(1)
}

// ReportLost notifies a client that its session is detached from the connection, and reports the notification to the
// holder.
func (se *Sessions) ReportLost(id shard.SessionID, holder *lease.Holder, why protocol.Result) {
	if c, ok := holder.Owner.(Conn); ok {
		se.Detach(id, c, why)
		c.Flush(false)
	}
	holder.Reported(1)
}

// Detach detaches a session from a connection and sends the reason, unless the session has reattached over the
// connection meanwhile; the caller flushes.
func (se *Sessions) Detach(id shard.SessionID, c Conn, why protocol.Result) {
	if c.Detach(id, se.r, why) {
		se.RemoveBound(id, c)
		se.r.set.ForgetSession(id, c)
	}
}

// endLeases ends a leader's leases, and notifies the sessions' clients.
func (se *Sessions) endLeases(why protocol.Result) {
	for _, lost := range se.r.Leases.Unlead() {
		if c, ok := lost.Holder.Owner.(Conn); ok {
			for _, id := range lost.Sessions {
				se.Detach(id, c, why)
			}
			c.Flush(false)
		}
		lost.Holder.Reported(len(lost.Sessions))
	}
}

// reportMissedEnds notifies bound sessions' connections, and the hosts that have asked, about session ends that
// arrived in a snapshot.
func (se *Sessions) reportMissedEnds() {
	var over []shard.SessionID
	watched := se.remoteSessions.all()
	se.r.mu.Lock()
	for id := range se.bound {
		watched[id] = struct{}{}
	}
	se.r.mu.Unlock()
	for id := range watched {
		if se.r.Machine.Liveness(id) == shard.Dead {
			over = append(over, id)
		}
	}
	for _, id := range over {
		se.ended(&shard.Effect{Kind: shard.EffectSessionEnded, Session: id})
	}
	se.r.flushDirty()
}

// Bind lets a session act over a connection without an attach, or only receive the session's end if the binding is
// silent. Bind returns false if the session has just ended, or the connection is closed.
func (se *Sessions) Bind(id shard.SessionID, node shard.NodeID, silent bool, c Conn) bool {
	if c.Acts(id) {
		return true
	}
	se.r.mu.Lock()
	if !slices.Contains(se.bound[id], c) {
		se.bound[id] = append(se.bound[id], c)
	}
	se.r.mu.Unlock()
	bound := c.Bind(id, node, se.r, silent)
	if se.r.set.AfterBind != nil {
		se.r.set.AfterBind()
	}
	// A session end reads the list after the machine has removed the session. So either the end finds the connection
	// in the list, or the check below finds that the session has ended.
	if !bound || !se.stillThere(id) {
		c.Unbind(id)
		se.RemoveBound(id, c)
		se.r.set.ForgetSession(id, c)
		return false
	}
	c.Review(id, node, se.r) // the right may have been revoked meanwhile
	return true
}

// RemoveBound removes a connection from the list of connections to which a session is bound.
func (se *Sessions) RemoveBound(id shard.SessionID, c Conn) {
	se.r.mu.Lock()
	defer se.r.mu.Unlock()
	list := slices.DeleteFunc(se.bound[id], func(x Conn) bool { return x == c })
	if len(list) == 0 {
		delete(se.bound, id)
		return
	}
	se.bound[id] = list
}

// HasSlot reports whether a slot is in the shard.
func (r *Replica) HasSlot(slot shard.Slot) bool { return r.slots.Has(slot) }

// SomeSlot returns one of the shard's slots. ok is false if the shard has no slot.
func (r *Replica) SomeSlot() (slot shard.Slot, ok bool) {
	n := r.slots.Len()
	if n == 0 {
		return 0, false
	}
	return r.slots.At(rand.IntN(n)), true
}

// OpenInbox starts inbox pushes to a member over a connection, and answers; the caller flushes. If the local replica
// does not know the session as such a member, OpenInbox returns false without answering, unless sure reports that the
// replica is up to date.
func (r *Replica) OpenInbox(c Conn, t pipeline.Ticket, m *protocol.InboxOpen, sure bool) (
	answered bool, refused error,
) {
	of := inbox.Member{
		Session: shard.SessionID(m.SessionID), Node: shard.NodeID(m.NodeID), Name: string(m.Name),
		ID: shard.OrderID(m.MemberID),
	}
	result := r.Inboxes.Open(of, c, m.After, func(at process.InboxPosition) bool {
		return c.AnswerBound(of.Session, t, &protocol.InboxOpenAnswer{Acked: at.Acked, LastSeq: at.LastSeq})
	})
	switch {
	case result.Status == protocol.StatusNotFound && !sure:
		return false, nil
	case result.Status != protocol.StatusSuccess:
		return false, &result
	case !c.May(protocol.KindInboxOpen, shard.ObjectName{Node: of.Node, Name: of.Name}):
		r.Withdraw(of.Session, c) // the right was revoked while the inbox was being opened
	case !r.Leads():
		// The end of a leadership is recorded before all inboxes are ended. So either the end finds this inbox, or
		// this check finds the end.
		r.Inboxes.End(r.set.Moved(r))
	}
	return true, nil
}
