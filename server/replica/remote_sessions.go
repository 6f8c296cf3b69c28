package replica

import (
	"maps"
	"slices"
	"sync"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// Holds reports whether this host has a copy of the shard.
func (r *Replica) Holds() bool { return r.end.on.Load() != nil }

// Filled reports whether the latest read barrier of this host's replica succeeded. A replica that was just started or
// added is not filled, nor is a partitioned replica.
func (r *Replica) Filled() bool { return r.Holds() && r.fresh.isFilled() }

// Here reports whether this host's replica of the shard answers questions about the shard's sessions.
func (r *Replica) Here() bool { return r.reports() && r.Filled() }

// reports reports whether the host goes by the session ends that the host's replica of the shard has applied. Applied
// ends are final, so the replica need not be filled.
func (r *Replica) reports() bool { return r.Holds() && (!r.set.config.Apart || r.Leads()) }

// Liveness implements shard.Directory. The replica of the session's home at this host answers: a replica that lags may
// call the session unknown, but never calls a living session dead. If the replica does not know the session, is not
// filled, or does not exist, the host asks another host too: see Set.over.
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

// remoteSessions are the sessions of a home that other hosts have asked about, by host.
type remoteSessions struct {
	mu     sync.Mutex
	byHost map[shard.HostID]map[shard.SessionID]struct{}
	losses map[shard.SessionID]map[uint64]uint64 // the losses in each shard that clients were notified of
}

// note notes that a host is to be notified of the end of a session.
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

// forget notes that a host knows of the end of a session. The other hosts that have asked are still to be notified.
func (rs *remoteSessions) forget(id shard.SessionID, host shard.HostID) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	delete(rs.byHost[host], id)
}

// take returns the hosts to notify of the end of a session, and forgets the session.
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

// all returns the noted sessions.
func (rs *remoteSessions) all() map[shard.SessionID]struct{} {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	list := make(map[shard.SessionID]struct{})
	for _, sessions := range rs.byHost {
		maps.Copy(list, sessions)
	}
	return list
}

// over is called when another host has said that a session is over. That is true for ever, so it counts also if this
// host has got a copy of the session's home meanwhile: the copy may be behind, or have got the end with a snapshot.
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

// boundSessions returns the sessions of this home that are bound to connections of this host.
func (se *Sessions) boundSessions() []shard.SessionID {
	se.r.mu.Lock()
	defer se.r.mu.Unlock()
	return slices.Collect(maps.Keys(se.bound))
}

// endBound reports the ends of bound sessions that came while another host spoke for the shard.
func (se *Sessions) endBound() {
	for _, id := range se.boundSessions() {
		if se.r.Machine.Liveness(id) == shard.Dead {
			se.unbindAll(id, protocol.EndUnknown)
		}
	}
}

// unbindAll ends the bindings of a session, and notifies their clients of the reason.
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

// askBound asks about the sessions that are bound to connections of this host.
func (se *Sessions) askBound() {
	for _, id := range se.boundSessions() {
		se.r.set.HomeShards.ask(se.r, id)
	}
}
