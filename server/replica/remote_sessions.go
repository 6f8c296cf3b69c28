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
	home := s.Of(id.Slot())
	if home.reports() {
		is = home.Machine.Liveness(id)
	}
	if is == shard.Unknown || is == shard.Alive && !home.Here() {
		s.HomeShards.ask(home, id)
	}
	return is
}

// remoteSessions are the sessions with a given home shard that remote hosts have asked about, by host.
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

// all returns the recorded sessions.
func (rs *remoteSessions) all() map[shard.SessionID]struct{} {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	list := make(map[shard.SessionID]struct{})
	for _, sessions := range rs.byHost {
		maps.Copy(list, sessions)
	}
	return list
}

// over is called when a remote host has reported that a session is over. An end is permanent, so it counts even if
// the local host has received a replica of the session's home shard meanwhile: that replica may lag, or may have
// received the end in a snapshot.
func (h *HomeShards) over(id shard.SessionID, why protocol.EndReason) {
	home := h.set.Of(id.Slot())
	h.set.HomeShards.mu.Lock()
	if b := h.set.HomeShards.binds[id]; b != nil {
		b.over = true
	}
	delete(h.set.HomeShards.asks[home], id)
	h.set.HomeShards.mu.Unlock()
	home.Sessions.unbindAll(id, why)
	for _, r := range h.set.Replicas {
		if r != home && r.Leads() {
			r.leader.over(id)
		}
	}
}

// boundSessions returns the sessions with this home shard that are bound to connections on the host.
func (se *Sessions) boundSessions() []shard.SessionID {
	se.r.mu.Lock()
	defer se.r.mu.Unlock()
	return slices.Collect(maps.Keys(se.bound))
}

// endBound reports ends of bound sessions that happened while a remote host was responsible for the shard.
func (se *Sessions) endBound() {
	for _, id := range se.boundSessions() {
		if se.r.Machine.Liveness(id) == shard.Dead {
			se.unbindAll(id, protocol.EndUnknown)
		}
	}
}

// unbindAll ends a session's bindings, and notifies their clients of the reason.
func (se *Sessions) unbindAll(id shard.SessionID, why protocol.EndReason) {
	se.r.mu.Lock()
	bound := se.bound[id]
	delete(se.bound, id)
	se.r.mu.Unlock()
	for _, c := range bound {
		if _, is := c.Unbind(id); is {
			se.r.set.ForgetSession(id, c)
			c.Push(0, &protocol.SessionEnded{SessionID: uint64(id), Reason: why})
			c.Flush(false)
		}
	}
}

// askBound asks about the sessions that are bound to connections on the host.
func (se *Sessions) askBound() {
	for _, id := range se.boundSessions() {
		se.r.set.HomeShards.ask(se.r, id)
	}
}
