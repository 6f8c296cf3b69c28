package replica

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// When a semaphore is deleted by force, its owners are notified over their home. The notice may be lost together with
// the leader of the semaphore's shard. So a remote session counts its losses in the log of that shard, the count goes
// to the leader of the home with every sweep, and the home has a client look at what it holds if the home has not
// counted as many notices.

// lostHolding is the loss of a holding on its way to the home of the session.
type lostHolding struct {
	protocol.HoldingLost
	// Shard is the shard of the holding, and Losses the number of the loss among those of the session there. Both are 0
	// if the shard counts none.
	Shard  uint64 `json:",omitempty"`
	Losses uint64 `json:",omitempty"`
}

// sessionLosses are the losses of sessions in one shard.
type sessionLosses struct {
	Shard    uint64       `json:"shard"`
	Sessions []shard.Loss `json:"sessions"`
}

// countLoss counts a notice about a loss in a shard, and returns whether notices before were missed.
func (rs *remoteSessions) countLoss(id shard.SessionID, in, n uint64) (missed bool) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	if rs.losses == nil {
		rs.losses = make(map[shard.SessionID]map[uint64]uint64)
	}
	if rs.losses[id] == nil {
		rs.losses[id] = make(map[uint64]uint64)
	}
	before := rs.losses[id][in]
	rs.losses[id][in] = max(n, before)
	return n > before+1
}

// lossesOf returns how many losses of a session in a shard its client has been notified of.
func (rs *remoteSessions) lossesOf(id shard.SessionID, in uint64) uint64 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.losses[id][in]
}

// forgetLosses is called when a leadership begins: what an earlier leader has sent is not known.
func (rs *remoteSessions) forgetLosses() {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	rs.losses = nil
}

// notifyLoss sends the loss of a holding over the connections of a session of this home. If earlier losses were
// missed, the client is to look at what it holds.
func (se *Sessions) notifyLoss(lost *lostHolding, flush func(Conn)) {
	id := shard.SessionID(lost.SessionID)
	if sent := se.pushLoss(&lost.HoldingLost, flush); !sent || lost.Losses == 0 || !se.r.Leads() {
		return
	}
	if se.remoteSessions.countLoss(id, lost.Shard, lost.Losses) {
		se.pushLook(id, flush)
	}
}

// pushLook has the client of a session look at what the session holds, and returns whether the client can be reached.
func (se *Sessions) pushLook(id shard.SessionID, flush func(Conn)) bool {
	return se.pushLoss(&protocol.HoldingLost{SessionID: uint64(id)}, flush)
}

// hearLosses compares the number of a session's losses in a shard with the notices. A session without a connection is
// left for a later sweep.
func (se *Sessions) hearLosses(in uint64, l shard.Loss) {
	if l.Count > se.remoteSessions.lossesOf(l.Session, in) && se.pushLook(l.Session, func(c Conn) { c.Flush(false) }) {
		se.remoteSessions.countLoss(l.Session, in, l.Count)
	}
}

// sweptSessions is the directory of a sweep, and keeps the remote sessions that were asked about.
type sweptSessions struct {
	set *Set
	ids []shard.SessionID
}

// Liveness implements shard.Directory.
func (ss *sweptSessions) Liveness(id shard.SessionID) shard.Liveness {
	ss.ids = append(ss.ids, id)
	return ss.set.Liveness(id)
}

// sweepLosses has the homes of the remote sessions of a page hear of their losses: those of this host at once, the
// others with the next call.
func (t *leaderTasks) sweepLosses(remotes []shard.SessionID) {
	for _, l := range t.r.Machine.Losses(remotes, nil) {
		if home := t.r.set.Of(l.Session.Slot()); home.Leads() {
			home.Sessions.hearLosses(t.r.ID, l)
		} else {
			t.r.set.HomeShards.ask(home, l.Session)
		}
	}
}

// lossesOf returns the losses of sessions in the shards that this host leads.
func (h *HomeShards) lossesOf(ids []shard.SessionID) (list []sessionLosses) {
	for _, r := range h.set.Replicas {
		if !r.Leads() {
			continue
		}
		if l := r.Machine.Losses(ids, nil); len(l) > 0 {
			list = append(list, sessionLosses{r.ID, l})
		}
	}
	return list
}

// hearsLosses reports whether the leader of a home applies the losses in a shard itself.
func (h *HomeShards) hearsLosses(home, in *Replica) bool {
	if home.Leads() {
		return true
	}
	list := h.set.Meta.Machine.HostsOf(meta.ShardID(in.ID)) // none is known before the hosts are bootstrapped
	return home.reports() && (list == nil || slices.Contains(list, home.Known().Leader))
}
