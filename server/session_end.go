package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/shard"
)

// end proposes the end of a session at once, for the commands of a connection or, where that is nil, for the host itself.
func (r *replica) end(from *pipeline.Source, id shard.SessionID, flags shard.CommandFlags, done func(e *shard.Effect, failed protocol.Status)) {
	if done == nil {
		done = func(*shard.Effect, protocol.Status) {}
	}
	command := shard.Command{Kind: shard.CmdSessionEnd, Session: id, Flags: flags}
	if !r.pipeline.Add(pipeline.Op{Source: from, Done: done}, &command) {
		done(nil, protocol.StatusOverloaded)
		return
	}
	r.pipeline.Flush()
}

func (c *conn) sessionStop(r *protocol.Request) {
	id := shard.SessionID(r.SessionStop.SessionID)
	b := c.binding(id)
	if b == nil || !b.attached {
		c.refuseSession(r, id, "the session is not attached over this connection")
		return
	}
	c.endSession(r, id, 0, c.stopping(b))
}

// stop is a SESSION_STOP under way. What the session asks for behind it over the same connection waits for its outcome:
// in another shard it could take effect before the end does.
type stop struct{ held []heldRequest }

type heldRequest struct {
	id   uint64
	kind protocol.Kind
}

// stopping holds back what comes for the session from now on. What it returns answers that, once the stop has its
// outcome.
func (c *conn) stopping(b *binding) (over func(ended bool)) {
	s := &stop{}
	c.mu.Lock()
	if b.stop == nil {
		b.stop = s
	}
	c.mu.Unlock()
	return func(ended bool) {
		c.mu.Lock()
		if b.stop == s {
			b.stop = nil
		}
		held := s.held
		s.held = nil
		c.mu.Unlock()
		result := protocol.Result{Status: protocol.StatusSessionExpired, Message: "the session was stopped"}
		if !ended {
			result = protocol.Result{
				Status: protocol.StatusUnavailable, WaitMillis: uint64(overloadWait.Milliseconds()),
				Message: "a stop of the session was sent before, and its outcome is not known",
			}
		}
		for _, r := range held {
			c.Fail(r.id, r.kind, &result)
		}
	}
}

// bindingOf is binding for a request, which is held back where its session is being stopped over this connection.
func (c *conn) bindingOf(r *protocol.Request, id shard.SessionID) (b *binding, held bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b = c.acting(id)
	if b == nil || b.stop == nil {
		return b, false
	}
	b.stop.held = append(b.stop.held, heldRequest{id: r.ID, kind: r.Kind})
	return b, true
}

func (c *conn) sessionDestroy(r *protocol.Request) {
	id := shard.SessionID(r.SessionDestroy.SessionID)
	rp := c.host.replicaOf(id.Slot())
	view, known := c.session(rp, id)
	switch {
	case known:
		if c.mayIn(r, view.Node) {
			c.endSession(r, id, shard.FlagOperator, func(bool) {})
		}
	case !c.may(r, ""):
	case !rp.leads():
		c.moved(r.ID, r.Kind, rp)
	default:
		// Nothing is proposed for a session whose node is not known: the right may not reach that far.
		request, kind := r.ID, r.Kind
		rp.fresh.confirm(func(_, led bool) {
			status := protocol.StatusSessionExpired
			if _, known := rp.machine.Session(id); known || !led {
				status = protocol.StatusUnavailable
			}
			c.Fail(request, kind, &protocol.Result{Status: status})
			c.flush()
		})
	}
}

// endSession proposes a session's end and answers when it is over, or when it is not known to be.
func (c *conn) endSession(r *protocol.Request, id shard.SessionID, flags shard.CommandFlags, over func(ended bool)) {
	rp := c.host.replicaOf(id.Slot())
	if !rp.leads() {
		c.moved(r.ID, r.Kind, rp)
		over(false)
		return
	}
	request, kind, started := r.ID, r.Kind, c.started
	rp.end(c.source, id, flags, func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e == nil && failed == protocol.StatusMoved:
			c.moved(request, kind, rp)
		case e == nil:
			c.Fail(request, kind, &protocol.Result{Status: failed})
		case e.Status != protocol.StatusSuccess:
			c.Fail(request, kind, &protocol.Result{Status: e.Status})
		case kind == protocol.KindSessionStop:
			c.answer(request, &protocol.SessionStopAnswer{})
		default:
			c.answer(request, &protocol.SessionDestroyAnswer{})
		}
		over(e != nil && (e.Status == protocol.StatusSuccess || e.Status == protocol.StatusSessionExpired))
		c.host.metrics.answered(kind, c.host.clock()-started)
		c.flush()
	})
}

// sessionEnded tells the connections of a session that it is over.
func (r *replica) sessionEnded(e *shard.Effect) {
	r.forgetSession(e.Session)
	if !r.slots.Has(e.Session.Slot()) {
		return
	}
	r.ended = protocol.SessionEnded{SessionID: uint64(e.Session), Reason: e.End}
	if holder := r.leases.Remove(e.Session); holder != nil {
		if c, ok := holder.Owner.(*conn); ok {
			r.tellEnded(e.Session, c)
		}
		holder.Told(1)
	}
	r.mu.Lock()
	bound := r.bound[e.Session]
	delete(r.bound, e.Session)
	r.mu.Unlock()
	for _, c := range bound {
		r.tellEnded(e.Session, c)
	}
	r.host.metrics.ended[e.End&7].Inc()
	for _, other := range r.host.replicas {
		if other != r && other.leads() {
			other.duty.suspect(e.Session)
		}
	}
}

func (r *replica) tellEnded(id shard.SessionID, c *conn) {
	if c.unbind(id) == nil {
		return
	}
	r.host.dropSession(id, c)
	c.push(0, &r.ended)
	r.mark(c)
}

// dropSession forgets what a session waits for and watches through one connection, in all shards.
func (h *Host) dropSession(id shard.SessionID, c *conn) {
	for _, r := range h.replicas {
		r.forgetWaits(id, c)
		r.forgetSessionWatches(id, c)
	}
}

// holdingLost tells an owner that its semaphore was deleted by force, or with its node.
func (r *replica) holdingLost(e *shard.Effect, why protocol.AbortReason) {
	home := r.host.replicaOf(e.Session.Slot())
	r.lost = protocol.HoldingLost{
		SessionID: uint64(e.Session), NodeID: uint64(e.Node), Name: []byte(e.Name),
		OrderID: uint64(e.Order), Reason: why,
	}
	tell := func(c *conn) {
		c.push(0, &r.lost)
		r.mark(c)
	}
	var over *conn
	if holder := home.leases.Holder(e.Session); holder != nil {
		if c, ok := holder.Owner.(*conn); ok {
			over = c
			tell(c)
		}
	}
	home.mu.Lock()
	bound := slices.Clone(home.bound[e.Session])
	home.mu.Unlock()
	for _, c := range bound {
		if c != over {
			tell(c)
		}
	}
}

// connClosed lets go of a connection: its sessions are detached from now on.
func (h *Host) connClosed(c *conn, sessions map[shard.SessionID]*binding) {
	now := h.now()
	for id, b := range sessions {
		b.home.unbound(id, c) // also of an attached one: it may have been bound before
		h.dropSession(id, c)
	}
	c.holder.Close(now)
	for _, r := range h.replicas {
		r.hub.Gone(c)
		if c.source != nil {
			r.pipeline.Remove(c.source)
		}
	}
	h.remove(c)
	h.wake()
}
