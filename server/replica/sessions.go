package replica

import (
	"math/rand/v2"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/process"
)

// Sessions records which connections of the host are bound to a session, and which hosts have asked about a session.
// Records are stored by session; the home shard is looked up when needed.
type Sessions struct {
	set    *Set
	remote remoteSessions

	mu    sync.Mutex         // guards the field below
	bound sessionMap[[]Conn] // may include the connection over which the session is attached
}

// EndSession proposes to end a session immediately, on behalf of a connection's source or, if from is nil, the host
// itself.
func (r *Replica) EndSession(from *pipeline.Source, id shard.SessionID, flags shard.CommandFlags,
	done func(e *shard.Effect, failed protocol.Status)) {
	r.propose(&shard.Command{Kind: shard.CmdSessionEnd, Session: id, Flags: flags}, from, done)
}

// sessionEnded notifies a session's connections that the session has ended.
func (r *Replica) sessionEnded(e *shard.Effect) {
	r.waits.forgetSession(e.Session)
	r.Inboxes.NoteSession(e.Session)
	// A shard forgets a remote session with the reason UNKNOWN, and so does a shard that receives a slot without a
	// session that it knew.
	if e.End == protocol.EndUnknown && !r.HasSlot(e.Session.Slot()) || !r.reports() {
		return
	}
	r.set.HomeShards.reportEnd(e.Session, e.End)
	r.ended = protocol.SessionEnded{SessionID: uint64(e.Session), Reason: e.End}
	if holder := r.Leases.Remove(e.Session); holder != nil {
		if c, ok := holder.Owner.(Conn); ok {
			r.reportEnd(e.Session, c)
		}
		holder.Reported(1)
	}
	for _, c := range r.set.Sessions.takeBound(e.Session) {
		r.reportEnd(e.Session, c)
	}
	r.set.metrics.SessionEnded(e.End)
	for _, other := range r.set.All() {
		if other != r && other.Leads() {
			other.leader.over(e.Session)
		}
	}
}

// reportEnd notifies one connection of the session end in r.ended.
func (r *Replica) reportEnd(id shard.SessionID, c Conn) {
	if _, bound := c.Unbind(id); !bound {
		return
	}
	r.set.ForgetSession(id, c)
	c.Push(0, &r.ended)
	r.Mark(c)
}

// takeBound removes a session's bindings, and returns their connections.
func (se *Sessions) takeBound(id shard.SessionID) []Conn {
	se.mu.Lock()
	defer se.mu.Unlock()
	bound := se.bound.get(id)
	se.bound.remove(id)
	return bound
}

// ForgetSession drops a session's binding, waits and watches through one connection, in all shards.
func (s *Set) ForgetSession(id shard.SessionID, c Conn) {
	s.Sessions.removeBound(id, c) // an attached session may have been bound before
	for _, r := range s.All() {
		r.waits.forget(id, c)
		r.Inboxes.Forget(id, c)
		r.OneShots.forgetSession(id, c)
	}
}

// reportLoss notifies an owner that its semaphore was deleted by force, or with its node.
func (r *Replica) reportLoss(e *shard.Effect, why protocol.AbortReason) {
	r.lost = lostHolding{Shard: r.ID, Losses: e.Limit, HoldingLost: protocol.HoldingLost{
		SessionID: uint64(e.Session), NodeID: uint64(e.Node), Name: []byte(e.Name),
		OrderID: uint64(e.Order), Reason: why,
	}}
	if e.Object != shard.KindSemaphore {
		r.lost.ObjectKind = protocol.ObjectKind(e.Object)
	}
	switch s := r.set; {
	case !r.reports():
		return // reported by the hosts whose replicas count
	case r.Leads() && !s.HomeShards.hearsLosses(s.Home(e.Session), r):
		s.HomeShards.sendLoss(r.lost)
	}
	r.set.Sessions.notifyLoss(&r.lost, r.Mark)
}

// pushLoss sends a holding's loss over the session's connections, and flushes the connections. pushLoss returns whether
// there is a connection.
func (se *Sessions) pushLoss(lost *protocol.HoldingLost, flush func(Conn)) (sent bool) {
	id, over := shard.SessionID(lost.SessionID), Conn(nil)
	push := func(c Conn) {
		sent = true
		c.Push(0, lost)
		flush(c)
	}
	if holder := se.set.Home(id).Leases.Holder(id); holder != nil {
		if c, ok := holder.Owner.(Conn); ok {
			over = c
			push(c)
		}
	}
	se.mu.Lock()
	bound := slices.Clone(se.bound.get(id))
	se.mu.Unlock()
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
	if c.Detach(id, why) {
		se.set.ForgetSession(id, c)
	}
}

// endLeases ends a leader's leases, and notifies the sessions' clients.
func (r *Replica) endLeases(why protocol.Result) {
	for _, lost := range r.Leases.Unlead() {
		if c, ok := lost.Holder.Owner.(Conn); ok {
			for _, id := range lost.Sessions {
				r.set.Sessions.Detach(id, c, why)
			}
			c.Flush(false)
		}
		lost.Holder.Reported(len(lost.Sessions))
	}
}

// reportMissedEnds notifies bound sessions' connections, and the hosts that have asked, about session ends that
// arrived in a snapshot.
func (r *Replica) reportMissedEnds() {
	watched := r.set.Sessions.remote.of(r)
	for _, id := range r.set.Sessions.boundOf(r) {
		watched[id] = struct{}{}
	}
	for id := range watched {
		if r.Machine.Liveness(id) == shard.Dead {
			r.sessionEnded(&shard.Effect{Kind: shard.EffectSessionEnded, Session: id})
		}
	}
	r.flushDirty()
}

// Bind lets a session act over a connection without an attach, or only receive the session's end if the binding is
// silent. Bind returns false if the session has just ended, or the connection is closed.
func (se *Sessions) Bind(id shard.SessionID, node shard.NodeID, silent bool, c Conn) bool {
	if c.Acts(id) {
		return true
	}
	se.mu.Lock()
	if list := se.bound.get(id); !slices.Contains(list, c) {
		se.bound.set(id, append(list, c))
	}
	se.mu.Unlock()
	bound := c.Bind(id, node, silent)
	if se.set.AfterBind != nil {
		se.set.AfterBind()
	}
	// A session end reads the list after the machine has removed the session. So either the end finds the connection
	// in the list, or the check below finds that the session has ended.
	if !bound || !se.stillThere(id) {
		c.Unbind(id)
		se.set.ForgetSession(id, c)
		return false
	}
	c.Review(id, node) // the right may have been revoked meanwhile
	return true
}

// removeBound removes a connection from the list of connections to which a session is bound.
func (se *Sessions) removeBound(id shard.SessionID, c Conn) {
	se.mu.Lock()
	defer se.mu.Unlock()
	list := slices.DeleteFunc(se.bound.get(id), func(x Conn) bool { return x == c })
	if len(list) == 0 {
		se.bound.remove(id)
		return
	}
	se.bound.set(id, list)
}

// HasSlot reports whether the shard owns a slot in the replica's state. A replica may lag behind the shard.
func (r *Replica) HasSlot(slot shard.Slot) bool {
	owned, _ := r.Machine.Owns(slot)
	return owned
}

// hasSlots reports whether the shard owns any slot.
func (r *Replica) hasSlots() bool {
	owned, _ := r.Machine.Slots()
	return owned.Len() > 0
}

// SomeSlot returns one of the shard's slots. ok is false if the shard has no slot.
func (r *Replica) SomeSlot() (slot shard.Slot, ok bool) {
	owned, _ := r.Machine.Slots()
	n := owned.Len()
	if n == 0 {
		return 0, false
	}
	return owned.At(rand.IntN(n)), true
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
