package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

func (c *conn) sessionStop(r *protocol.Request) {
	id := shard.SessionID(r.SessionStop.SessionID)
	b := c.binding(id)
	if b == nil || !b.attached {
		c.refuseSession(r, id, "the session is not attached over this connection")
		return
	}
	c.endSession(r, id, 0, c.stopping(b))
}

// stop is a SESSION_STOP under way. Later requests of the session over this connection wait for the outcome of the
// stop: in another shard a request could take effect before the end does.
type stop struct{ held []heldRequest }

type heldRequest struct {
	id   uint64
	kind protocol.Kind
}

// stopping holds back later requests of the session. The returned function answers them, once the stop has its
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
				Status: protocol.StatusUnavailable, WaitMillis: uint64(replica.OverloadWait.Milliseconds()),
				Message: "a stop of the session was sent before, and its outcome is not known",
			}
		}
		for _, r := range held {
			c.Fail(r.id, r.kind, &result)
		}
	}
}

func (c *conn) sessionDestroy(r *protocol.Request) {
	id := shard.SessionID(r.SessionDestroy.SessionID)
	rp := c.host.set.Of(id.Slot())
	if !rp.Leads() {
		c.moved(r.ID, r.Kind, rp) // only the home's leader knows the node, and so the right
		return
	}
	view, known := c.session(rp, id)
	switch {
	case known:
		if c.authorizeIn(r, view.Node, nil) {
			c.endSession(r, id, shard.FlagOperator, func(bool) {})
		}
	case c.authorize(r, "", ""):
		// Nothing is proposed for a session with an unknown node: the right may not reach that far.
		request, kind := r.ID, r.Kind
		rp.Confirm(func(_, led bool) {
			status := protocol.StatusSessionExpired
			if _, known := c.session(rp, id); known || !led {
				status = protocol.StatusUnavailable
			}
			c.Fail(request, kind, &protocol.Result{Status: status})
			c.flush()
		})
	}
}

// endSession proposes a session's end and answers when the session is over, or when the outcome is unknown.
func (c *conn) endSession(r *protocol.Request, id shard.SessionID, flags shard.CommandFlags, over func(ended bool)) {
	rp := c.host.set.Of(id.Slot())
	if !rp.Leads() {
		c.moved(r.ID, r.Kind, rp)
		over(false)
		return
	}
	request, kind, started := r.ID, r.Kind, c.started
	rp.EndSession(c.source, id, flags, func(e *shard.Effect, failed protocol.Status) {
		switch {
		case e == nil && failed == protocol.StatusMoved:
			c.moved(request, kind, rp)
		case e == nil:
			c.Fail(request, kind, pipeline.Why(failed))
		case e.Status != protocol.StatusSuccess:
			c.Fail(request, kind, &protocol.Result{Status: e.Status})
		case kind == protocol.KindSessionStop:
			c.Answer(request, &protocol.SessionStopAnswer{})
		default:
			c.Answer(request, &protocol.SessionDestroyAnswer{})
		}
		over(e != nil && (e.Status == protocol.StatusSuccess || e.Status == protocol.StatusSessionExpired))
		c.host.metrics.Answered(kind, c.host.set.Clock()-started)
		c.flush()
	})
}

// sessionDetach removes a session from this connection, as if the connection had closed for this session alone.
func (c *conn) sessionDetach(r *protocol.Request) {
	m := &r.SessionDetach
	id := shard.SessionID(m.SessionID)
	b := c.bindingOf(r, id)
	if b == nil {
		return
	}
	h := c.host
	c.Unbind(id)
	b.home.RemoveBound(id, c) // an attached session may have been bound before
	h.set.ForgetSession(id, c)
	if b.attached {
		// If the session has left this connection meanwhile, the new connection goes by a time of its own.
		b.home.Leases.Detach(id, c.holder, time.Duration(m.LeftMillis)*time.Millisecond, c.heardAt)
		h.set.Wake()
	}
	c.Answer(r.ID, &protocol.SessionDetachAnswer{})
	h.metrics.Answered(r.Kind, h.set.Clock()-c.started)
}

// connClosed removes a connection: its sessions are detached from now on.
func (h *Host) connClosed(c *conn, sessions map[shard.SessionID]*binding) {
	now := h.config.Clock()
	for id, b := range sessions {
		b.home.RemoveBound(id, c) // an attached session may have been bound before
		h.set.ForgetSession(id, c)
	}
	c.holder.Close(now)
	for _, r := range h.replicas {
		r.Hub.Gone(c)
		r.Inboxes.Gone(c)
		if c.source != nil {
			r.Pipeline.Remove(c.source)
		}
	}
	h.mu.Lock()
	delete(h.conns, c)
	h.mu.Unlock()
	h.set.Wake()
}
