package server

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// attachedHome counts the attached sessions of one home shard over a connection.
type attachedHome struct {
	home     *replica.Replica
	sessions int
	// slot is the slot of new sessions, and begun how many have been begun there over the connection.
	slot  shard.Slot
	begun int
}

// binding is a session that may act over a connection.
type binding struct {
	node     shard.NodeID
	home     *replica.Replica
	attached bool // over this connection; else only bound to it
	// silent: the host reported to the client that the client was silent for too long. The session acts here no more,
	// and only its end is reported. The connection's lock guards silent and stop.
	silent bool
	stop   *stop // the SESSION_STOP under way over this connection
}

// binding returns the session if the session may act over this connection.
func (c *conn) binding(id shard.SessionID) *binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.acting(id)
}

// acting is binding with the lock held.
func (c *conn) acting(id shard.SessionID) *binding {
	if b := c.sessions[id]; b != nil && !b.silent {
		return b
	}
	return nil
}

// bindingOf is binding for a request, and answers the request if there is no binding. A request is held back while its
// session is being stopped over this connection: then the binding is nil, and the answer comes later.
func (c *conn) bindingOf(r *protocol.Request, id shard.SessionID) *binding {
	c.mu.Lock()
	b := c.acting(id)
	held := b != nil && b.stop != nil
	if held {
		b.stop.held = append(b.stop.held, heldRequest{id: r.ID, kind: r.Kind})
	}
	c.mu.Unlock()
	if b == nil {
		c.refuseSession(r, id, "the session is neither attached over nor bound to this connection")
	}
	if held {
		return nil
	}
	return b
}

// Acts implements replica.Conn.
func (c *conn) Acts(id shard.SessionID) bool { return c.binding(id) != nil }

// Bind implements replica.Conn. A silent binding is replaced.
func (c *conn) Bind(id shard.SessionID, node shard.NodeID, home *replica.Replica, silent bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if before := c.sessions[id]; before == nil || before.silent {
		c.sessions[id] = &binding{node: node, home: home, silent: silent}
	}
	return true
}

// Unbind implements replica.Conn.
func (c *conn) Unbind(id shard.SessionID) (node shard.NodeID, bound bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.remove(id)
	if b == nil {
		return 0, false
	}
	return b.node, true
}

// Detach implements replica.Conn. A session that came back over this connection meanwhile stays: the client has got
// an answer about the attach, and a SessionDetached would contradict the answer.
func (c *conn) Detach(id shard.SessionID, home *replica.Replica, why protocol.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions[id] == nil || home.Leases.Holder(id) == c.holder {
		return false
	}
	c.remove(id)
	c.encoder.Push(c.buffer(), 0, &protocol.SessionDetached{SessionID: uint64(id), Result: why})
	return true
}

// remove is Unbind with the lock held.
func (c *conn) remove(id shard.SessionID) *binding {
	b := c.sessions[id]
	delete(c.sessions, id)
	if b != nil && b.attached {
		c.attachedHome(b.home).sessions--
	}
	return b
}

// attachedHome returns the counts of a home shard. The lock is held.
func (c *conn) attachedHome(home *replica.Replica) *attachedHome {
	i := slices.IndexFunc(c.attached, func(a attachedHome) bool { return a.home == home })
	if i < 0 {
		i = len(c.attached)
		c.attached = append(c.attached, attachedHome{home: home})
	}
	return &c.attached[i]
}

// sessionsOfSlot is how many sessions are begun in one slot over a connection before another slot is taken. The
// sessions of a client move together.
const sessionsOfSlot = 500

// slotForSession returns the slot of a shard for a new session over the connection, and false if the shard has no slot.
func (c *conn) slotForSession(home *replica.Replica) (slot shard.Slot, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	a := c.attachedHome(home)
	if a.begun == 0 || a.begun == sessionsOfSlot || !home.HasSlot(a.slot) {
		a.slot, ok = home.SomeSlot()
		if a.begun = 0; !ok {
			return 0, false
		}
	}
	a.begun++
	return a.slot, true
}

// attachAndAnswer attaches a session over the connection and answers, in one step under the connection's lock. From
// then on a loss of the session finds the binding here, and the message about the loss comes after the answer.
// Otherwise the client could believe in an attach that is over, and relate every later pong to the attach.
func (c *conn) attachAndAnswer(
	id shard.SessionID, n shard.NodeID, home *replica.Replica, request uint64, answer protocol.AnswerMessage,
	attach func() lease.Verdict,
) lease.Verdict {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch v := attach(); {
	case v != lease.Attached:
		return v
	case c.closed:
		return lease.Closed // the holder is about to be closed
	}
	c.bindAttached(id, n, home)
	c.inFlight.Add(-1)
	c.encoder.Answer(c.buffer(), request, answer)
	return lease.Attached
}

// bindAttached binds a session to the connection that the session is attached over. The lock is held.
func (c *conn) bindAttached(id shard.SessionID, n shard.NodeID, home *replica.Replica) {
	if b := c.sessions[id]; b != nil && b.attached {
		return
	}
	c.sessions[id] = &binding{node: n, home: home, attached: true}
	c.attachedHome(home).sessions++
}
