package replica

import (
	"maps"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Holds reports whether the host has a replica of the shard.
func (r *Replica) Holds() bool { return r.end.on.Load() != nil }

// Filled reports whether the latest read barrier on the host's replica succeeded. A replica that was just started or
// added is not filled, nor is a partitioned replica.
func (r *Replica) Filled() bool { return r.Holds() && r.fresh.isFilled() }

// Here reports whether the host's replica answers questions about the shard's sessions.
func (r *Replica) Here() bool { return r.reports() && r.Filled() }

// reports reports whether the host relies on session ends that its replica of the shard has applied. Applied ends are
// final, so the replica need not be filled.
func (r *Replica) reports() bool { return r.Holds() && (!r.set.config.Apart || r.Leads()) }

// Liveness implements shard.Directory. The local host's replica of the session's home shard answers: a replica that
// lags may report the session as unknown, but never reports a living session as dead. If the replica does not know
// the session, is not filled, or does not exist, the host also asks a remote host: see HomeShards.over.
func (s *Set) Liveness(id shard.SessionID) (is shard.Liveness) {
	home := s.Home(id)
	if home.reports() {
		is = home.Machine.Liveness(id)
	}
	if is == shard.Unknown || is == shard.Alive && !home.Here() {
		s.HomeShards.ask(id)
	}
	return is
}

// remoteSessions records the sessions that each remote host has asked about.
type remoteSessions struct {
	mu     sync.Mutex
	byHost map[shard.HostID]map[shard.SessionID]struct{}
	losses map[shard.SessionID]map[uint64]uint64 // losses per shard about which clients were notified
}

// note records that a host must be notified when a session ends.
func (rs *remoteSessions) note(id shard.SessionID, host shard.HostID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.byHost[host] == nil {
		if rs.byHost == nil {
			rs.byHost = make(map[shard.HostID]map[shard.SessionID]struct{})
		}
		rs.byHost[host] = make(map[shard.SessionID]struct{})
	}
	rs.byHost[host][id] = struct{}{}
}

// forget records that a host knows about a session's end. Remote hosts that have asked must still be notified.
func (rs *remoteSessions) forget(id shard.SessionID, host shard.HostID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.byHost[host], id)
}

// take returns the hosts to notify about a session's end, and removes the session.
func (rs *remoteSessions) take(id shard.SessionID) (told []shard.HostID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.losses, id)
	for host, sessions := range rs.byHost {
		if _, is := sessions[id]; is {
			delete(sessions, id)
			told = append(told, host)
		}
	}
	return told
}

// of returns the recorded sessions with a home shard.
func (rs *remoteSessions) of(home *Replica) map[shard.SessionID]struct{} {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	list := make(map[shard.SessionID]struct{})
	for _, sessions := range rs.byHost {
		for id := range sessions {
			if home.set.Home(id) == home {
				list[id] = struct{}{}
			}
		}
	}
	return list
}

// over is called when a remote host has reported that a session is over. An end is permanent, so it counts even if
// the local host has received a replica of the session's home shard meanwhile: that replica may lag, or may have
// received the end in a snapshot.
func (h *HomeShards) over(id shard.SessionID, why protocol.EndReason) {
	home := h.set.Home(id)
	h.mu.Lock()
	if b := h.binds[id]; b != nil {
		b.over = true
	}
	h.asks.remove(id)
	h.mu.Unlock()
	h.set.Sessions.unbindAll(id, why)
	for _, r := range h.set.All() {
		if r != home && r.Leads() {
			r.leader.over(id)
		}
	}
}

// boundOf returns the sessions with a home shard that are bound to connections on the host.
func (se *Sessions) boundOf(home *Replica) []shard.SessionID {
	se.mu.Lock()
	defer se.mu.Unlock()
	return slices.Collect(se.bound.of(home))
}

// homeMoved is called when another shard is the home of a slot's sessions: hosts ask again, as after a leader change.
func (h *HomeShards) homeMoved(slot shard.Slot) {
	h.set.Sessions.mu.Lock()
	bound := slices.Collect(maps.Keys(h.set.Sessions.bound.slots[slot]))
	h.set.Sessions.mu.Unlock()
	home := h.set.Of(slot)
	for _, id := range bound {
		if !home.Here() {
			h.ask(id)
		} else if home.Machine.Liveness(id) == shard.Dead {
			h.set.Sessions.unbindAll(id, protocol.EndUnknown)
		}
	}
	for _, r := range h.set.All() {
		if r != home && r.Leads() {
			r.leader.recheck()
		}
	}
}

// endBound reports ends of bound sessions that happened while a remote host was responsible for their home shard.
func (se *Sessions) endBound(home *Replica) {
	for _, id := range se.boundOf(home) {
		if home.Machine.Liveness(id) == shard.Dead {
			se.unbindAll(id, protocol.EndUnknown)
		}
	}
}

// unbindAll ends a session's bindings, and notifies their clients of the reason.
func (se *Sessions) unbindAll(id shard.SessionID, why protocol.EndReason) {
	for _, c := range se.takeBound(id) {
		if _, is := c.Unbind(id); is {
			se.set.ForgetSession(id, c)
			c.Push(0, &protocol.SessionEnded{SessionID: uint64(id), Reason: why})
			c.Flush(false)
		}
	}
}

// askBound asks about the sessions with a home shard that are bound to connections on the host.
func (se *Sessions) askBound(home *Replica) {
	for _, id := range se.boundOf(home) {
		se.set.HomeShards.ask(id)
	}
}
