package server

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// sessionDetach takes a session off this connection, as if the connection had closed for it alone.
func (c *conn) sessionDetach(r *protocol.Request) {
	m := &r.SessionDetach
	id := shard.SessionID(m.SessionID)
	b, held := c.bindingOf(r, id)
	switch {
	case held:
		return
	case b == nil:
		c.refuseSession(r, id, "the session is neither attached over nor bound to this connection")
		return
	}
	h := c.host
	c.Unbind(id)
	b.home.RemoveBound(id, c) // also of an attached one: it may have been bound before
	h.set.ForgetSession(id, c)
	if b.attached {
		// Where the session has left this connection meanwhile, the one that took it goes by its own time.
		b.home.Leases.Detach(id, c.holder, time.Duration(m.LeftMillis)*time.Millisecond, c.heardAt)
		h.set.Wake()
	}
	c.Answer(r.ID, &protocol.SessionDetachAnswer{})
	h.metrics.Answered(r.Kind, h.clock()-c.started)
}
