package connection

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
)

// binding is a session that may act over a connection.
type binding struct {
	handle.Binding
	// silent reports that the host has notified the client about missed heartbeats. The session may no longer act
	// here, and only its end is reported.
	silent bool
}

// sessions are a connection's sessions. The connection's lock guards them.
type sessions struct {
	all    map[shard.SessionID]*binding // nil after the connection is closed
	starts []startSlot
}

// startSlot is the slot in a shard for the connection's new sessions. begun counts the sessions created in the slot
// over the connection.
type startSlot struct {
	shard uint64
	slot  shard.Slot
	begun int
}

func newSessions() sessions { return sessions{all: make(map[shard.SessionID]*binding)} }

// acting returns the binding for a session, if the session may act over the connection.
func (s *sessions) acting(id shard.SessionID) *binding {
	if b := s.all[id]; b != nil && !b.silent {
		return b
	}
	return nil
}

// attach binds a session to the connection over which the session is attached.
func (s *sessions) attach(id shard.SessionID, node shard.NodeID) {
	if b := s.all[id]; b != nil && b.Attached {
		return
	}
	s.all[id] = &binding{Binding: handle.Binding{Node: node, Attached: true}}
}

// remove removes a session and returns its binding.
func (s *sessions) remove(id shard.SessionID) *binding {
	b := s.all[id]
	delete(s.all, id)
	return b
}

// takeAll removes all sessions.
func (s *sessions) takeAll() map[shard.SessionID]*binding {
	all := s.all
	s.all = nil
	return all
}

// sessionsOfSlot is the number of sessions a connection creates in one slot before it takes another slot. A client's
// sessions move together.
const sessionsOfSlot = 500

// slotForSession returns the shard's slot for a new session. ok is false if the shard has no slot.
func (s *sessions) slotForSession(home *replica.Replica) (slot shard.Slot, ok bool) {
	i := slices.IndexFunc(s.starts, func(a startSlot) bool { return a.shard == home.ID })
	if i < 0 {
		i = len(s.starts)
		s.starts = append(s.starts, startSlot{shard: home.ID})
	}
	a := &s.starts[i]
	if a.begun == 0 || a.begun == sessionsOfSlot || !home.HasSlot(a.slot) {
		a.slot, ok = home.SomeSlot()
		if a.begun = 0; !ok {
			return 0, false
		}
	}
	a.begun++
	return a.slot, true
}

// SlotForSession implements handle.Connection.
func (c *Conn) SlotForSession(home *replica.Replica) (slot shard.Slot, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions.slotForSession(home)
}

// Binding implements handle.Connection.
func (c *Conn) Binding(id shard.SessionID) (handle.Binding, bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.sessions.acting(id); b != nil {
		return b.Binding, true
	}
	return handle.Binding{}, false
}

// SwapStop implements handle.Connection.
func (c *Conn) SwapStop(id shard.SessionID, from, to *handle.Stop) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if b := c.sessions.all[id]; b != nil && b.Stop == from {
		b.Stop = to
	}
}

// bound returns a copy of the bindings.
func (c *Conn) bound() map[shard.SessionID]*binding {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.sessions.all)
}

// Acts implements replica.Conn.
func (c *Conn) Acts(id shard.SessionID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.sessions.acting(id) != nil
}

// Bind implements replica.Conn. A silent binding is replaced.
func (c *Conn) Bind(id shard.SessionID, node shard.NodeID, silent bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	if before := c.sessions.all[id]; before == nil || before.silent {
		c.sessions.all[id] = &binding{Binding: handle.Binding{Node: node}, silent: silent}
	}
	return true
}

// Unbind implements replica.Conn.
func (c *Conn) Unbind(id shard.SessionID) (node shard.NodeID, bound bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	b := c.sessions.remove(id)
	if b == nil {
		return 0, false
	}
	return b.Node, true
}

// Detach implements replica.Conn. A session that has reattached over the connection meanwhile stays attached: the
// client has already received the attach answer, and a SessionDetached would contradict the answer.
func (c *Conn) Detach(id shard.SessionID, why protocol.Result) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.sessions.all[id] == nil || c.set.Host.Home(id).Leases.Holder(id) == c.holder {
		return false
	}
	c.sessions.remove(id)
	c.out.encoder.Push(c.out.buffer(), 0, &protocol.SessionDetached{SessionID: uint64(id), Result: why})
	return true
}

// May implements replica.Conn.
func (c *Conn) May(k protocol.Kind, of shard.ObjectName) bool {
	return c.Caller().PermitsIn(k, of.Node, of.Name)
}

func (c *Conn) mayWatch(of shard.ObjectName) bool { return c.May(protocol.KindWatch, of) }

// Review implements replica.Conn.
func (c *Conn) Review(id shard.SessionID, node shard.NodeID) {
	if by := c.Caller(); by.PermitsIn(protocol.KindSessionBind, node, "") && by.Sees(node) {
		return
	}
	attached := c.set.Host.Home(id).Leases.Withdraw(id, c.holder)
	if c.Detach(id, replica.Withdrawn) {
		c.set.Host.ForgetSession(id, c)
	}
	if attached {
		c.holder.Reported(1)
	}
}
