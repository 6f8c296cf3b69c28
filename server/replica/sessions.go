package replica

import (
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/inbox"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
)

// EndSession proposes the end of a session at once, for the commands of a connection or, if from is nil, for the host
// itself.
func (r *Replica) EndSession(from *pipeline.Source, id shard.SessionID, flags shard.CommandFlags,
	done func(e *shard.Effect, failed protocol.Status)) {
	r.propose(&shard.Command{Kind: shard.CmdSessionEnd, Session: id, Flags: flags}, from, done)
}

// sessionEnded notifies the connections of a session that the session is over.
func (r *Replica) sessionEnded(e *shard.Effect) {
	r.forgetSession(e.Session)
	r.Inboxes.NoteSession(e.Session)
	if !r.slots.Has(e.Session.Slot()) || !r.reports() {
		return
	}
	r.set.homes.reportEnd(r, e.Session, e.End)
	r.ended = protocol.SessionEnded{SessionID: uint64(e.Session), Reason: e.End}
	if holder := r.Leases.Remove(e.Session); holder != nil {
		if c, ok := holder.Owner.(Conn); ok {
			r.reportEnd(e.Session, c)
		}
		holder.Reported(1)
	}
	r.mu.Lock()
	bound := r.bound[e.Session]
	delete(r.bound, e.Session)
	r.mu.Unlock()
	for _, c := range bound {
		r.reportEnd(e.Session, c)
	}
	r.set.metrics.SessionEnded(e.End)
	for _, other := range r.set.Replicas {
		if other != r && other.Leads() {
			other.leader.over(e.Session)
		}
	}
}

func (r *Replica) reportEnd(id shard.SessionID, c Conn) {
	if _, bound := c.Unbind(id); !bound {
		return
	}
	r.set.ForgetSession(id, c)
	c.Push(0, &r.ended)
	r.Mark(c)
}

// ForgetSession drops the waits and watches of a session through one connection, in all shards.
func (s *Set) ForgetSession(id shard.SessionID, c Conn) {
	for _, r := range s.Replicas {
		r.forgetWaits(id, c)
		r.Inboxes.Forget(id, c)
		r.forgetSessionWatches(id, c)
	}
}

// reportLoss notifies an owner that its semaphore was deleted by force, or with its node.
func (r *Replica) reportLoss(e *shard.Effect, why protocol.AbortReason) {
	home := r.set.Of(e.Session.Slot())
	r.lost = lostHolding{Shard: r.ID, Losses: e.Limit, HoldingLost: protocol.HoldingLost{
		SessionID: uint64(e.Session), NodeID: uint64(e.Node), Name: []byte(e.Name),
		OrderID: uint64(e.Order), Reason: why,
	}}
	if e.Object != shard.KindSemaphore {
		r.lost.ObjectKind = protocol.ObjectKind(e.Object)
	}
	switch {
	case !r.reports():
		return // the hosts whose copies count say so
	case r.Leads() && !r.set.hearsLosses(home, r):
		r.set.homes.sendLoss(home, r.lost)
	}
	home.notifyLoss(&r.lost, r.Mark)
}

// pushLoss sends the loss of a holding over the connections of a session of this home, and has them flushed. It
// returns whether there is a connection.
func (r *Replica) pushLoss(lost *protocol.HoldingLost, flush func(Conn)) (sent bool) {
	id, over := shard.SessionID(lost.SessionID), Conn(nil)
	push := func(c Conn) {
		sent = true
		c.Push(0, lost)
		flush(c)
	}
	if holder := r.Leases.Holder(id); holder != nil {
		if c, ok := holder.Owner.(Conn); ok {
			over = c
			push(c)
		}
	}
	r.mu.Lock()
	bound := slices.Clone(r.bound[id])
	r.mu.Unlock()
	for _, c := range bound {
		if c != over {
			push(c)
		}
	}
	return sent
}

// detachSilent notifies a client that was silent for too long that its session is detached. The connection stays on
// the list for notification of the session's end.
func (r *Replica) detachSilent(id shard.SessionID, holder *lease.Holder) {
	if c, ok := holder.Owner.(Conn); ok {
		node, bound := c.Unbind(id)
		c.Push(0, &protocol.SessionDetached{SessionID: uint64(id), Result: protocol.Result{
			Status: protocol.StatusTimeout, Message: "the client was silent for longer than the session's timeout",
		}})
		if bound && !r.Bind(id, node, true, c) {
			c.Unbind(id)
		}
		c.Flush(false)
	}
	holder.Reported(1)
}

// ReportLost notifies a client that its session is detached from the connection, and notifies the holder of the
// report.
func (r *Replica) ReportLost(id shard.SessionID, holder *lease.Holder, why protocol.Result) {
	if c, ok := holder.Owner.(Conn); ok {
		r.Detach(id, c, why)
		c.Flush(false)
	}
	holder.Reported(1)
}

// Detach detaches a session from a connection and sends the reason, unless the session came back over the connection
// meanwhile; the caller flushes.
func (r *Replica) Detach(id shard.SessionID, c Conn, why protocol.Result) {
	if c.Detach(id, r, why) {
		r.RemoveBound(id, c)
		r.set.ForgetSession(id, c)
	}
}

// endLeases ends the leases of a leader, and notifies the clients of the sessions in them.
func (r *Replica) endLeases(why protocol.Result) {
	for _, lost := range r.Leases.Unlead() {
		if c, ok := lost.Holder.Owner.(Conn); ok {
			for _, id := range lost.Sessions {
				r.Detach(id, c, why)
			}
			c.Flush(false)
		}
		lost.Holder.Reported(len(lost.Sessions))
	}
}

// reportMissedEnds notifies the connections of bound sessions, and the hosts that have asked, if the end of a session
// came with a snapshot.
func (r *Replica) reportMissedEnds() {
	var over []shard.SessionID
	watched := r.guests.all()
	r.mu.Lock()
	for id := range r.bound {
		watched[id] = struct{}{}
	}
	r.mu.Unlock()
	for id := range watched {
		if r.Machine.Liveness(id) == shard.Dead {
			over = append(over, id)
		}
	}
	for _, id := range over {
		r.sessionEnded(&shard.Effect{Kind: shard.EffectSessionEnded, Session: id})
	}
	r.flushDirty()
}

// Bind lets a session act over a connection that it is not attached over, or only get the session's end if the
// binding is silent. False: the session has just ended, or the connection is gone.
func (r *Replica) Bind(id shard.SessionID, node shard.NodeID, silent bool, c Conn) bool {
	if c.Acts(id) {
		return true
	}
	r.mu.Lock()
	if !slices.Contains(r.bound[id], c) {
		r.bound[id] = append(r.bound[id], c)
	}
	r.mu.Unlock()
	bound := c.Bind(id, node, r, silent)
	if r.set.AfterBind != nil {
		r.set.AfterBind()
	}
	// The end of a session reads the list after the machine has removed the session. So either the end finds this
	// connection in the list, or the check below finds the session gone.
	if !bound || !r.stillThere(id) {
		c.Unbind(id)
		r.RemoveBound(id, c)
		r.set.ForgetSession(id, c)
		return false
	}
	c.Review(id, node, r) // the right may have been revoked meanwhile
	return true
}

// RemoveBound removes a connection from the list of connections that a session is bound to.
func (r *Replica) RemoveBound(id shard.SessionID, c Conn) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := slices.DeleteFunc(r.bound[id], func(x Conn) bool { return x == c })
	if len(list) == 0 {
		delete(r.bound, id)
		return
	}
	r.bound[id] = list
}

// HasSlot reports whether a slot is in the shard.
func (r *Replica) HasSlot(slot shard.Slot) bool { return r.slots.Has(slot) }

// SomeSlot returns one of the shard's slots, and false if the shard has no slot.
func (r *Replica) SomeSlot() (slot shard.Slot, ok bool) {
	n := r.slots.Len()
	if n == 0 {
		return 0, false
	}
	return r.slots.At(rand.IntN(n)), true
}

// OpenInbox has the inbox of a member pushed over a connection, and answers; the caller flushes. It returns false, and
// answers nothing, if the session is not such a member as far as this copy of the shard has come, unless sure says that
// the copy is up to date.
func (r *Replica) OpenInbox(c Conn, t pipeline.Ticket, m *protocol.InboxOpen, sure bool) (
	answered bool, refused error,
) {
	of := inbox.Member{
		Session: shard.SessionID(m.SessionID), Node: shard.NodeID(m.NodeID), Name: string(m.Name),
		ID: shard.OrderID(m.MemberID),
	}
	result := r.Inboxes.Open(of, c, m.After, func(at machine.InboxPlace) bool {
		return c.AnswerBound(of.Session, t, &protocol.InboxOpenAnswer{Acked: at.Acked, LastSeq: at.LastSeq})
	})
	switch {
	case result.Status == protocol.StatusNotFound && !sure:
		return false, nil
	case result.Status != protocol.StatusSuccess:
		return false, &result
	case !c.May(protocol.KindInboxOpen, shard.ObjectName{Node: of.Node, Name: of.Name}):
		r.Withdraw(of.Session, c) // the right was revoked while the inbox was opened
	case !r.Leads():
		// The end of a leadership is noted before all inboxes are ended: so either the end finds this inbox, or this
		// check finds the end.
		r.Inboxes.End(r.set.Moved(r))
	}
	return true, nil
}
