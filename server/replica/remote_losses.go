package replica

import (
	"maps"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// When a semaphore is deleted by force, its owners are notified through their home shards. The notification may be
// lost together with the leader of the semaphore's shard. So a remote session's losses are counted in that shard's
// log, the count is sent to the home shard's leader with every sweep, and if the home shard has counted fewer
// notifications, it asks the client to check its holdings.

// lostHolding is a holding's loss on its way to the session's home shard.
type lostHolding struct {
	protocol.HoldingLost
	// Shard is the holding's shard. Losses is the loss's number among the session's losses there. Both are 0 if the
	// shard does not count losses.
	Shard  uint64 `json:",omitempty"`
	Losses uint64 `json:",omitempty"`
}

func (l *lostHolding) session() shard.SessionID { return shard.SessionID(l.SessionID) }

// sessionLosses are the losses of sessions in one shard.
type sessionLosses struct {
	Shard    uint64       `json:"shard"`
	Sessions []shard.Loss `json:"sessions"`
}

// countLoss counts a loss notification for a shard, and returns whether earlier notifications were missed.
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

// lossesOf returns the number of a session's losses in a shard about which its client was notified.
func (rs *remoteSessions) lossesOf(id shard.SessionID, in uint64) uint64 {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	return rs.losses[id][in]
}

// forgetLosses is called when the leadership of a home shard begins, because the notifications from an earlier leader
// are unknown.
func (rs *remoteSessions) forgetLosses(home *Replica) {
	rs.mu.Lock()
	defer rs.mu.Unlock()
	maps.DeleteFunc(rs.losses, func(id shard.SessionID, _ map[uint64]uint64) bool { return home.set.Home(id) == home })
}

// notifyLoss sends a holding's loss over the session's connections. If earlier losses were missed, the client is asked
// to check its holdings.
func (se *Sessions) notifyLoss(lost *lostHolding, flush func(Conn)) {
	id := lost.session()
	sent := se.pushLoss(&lost.HoldingLost, flush)
	if !sent || lost.Losses == 0 || !se.set.Home(id).Leads() {
		return
	}
	if se.remote.countLoss(id, lost.Shard, lost.Losses) {
		se.pushLook(id, flush)
	}
}

// pushLook asks a session's client to check the session's holdings, and returns whether the client is reachable.
func (se *Sessions) pushLook(id shard.SessionID, flush func(Conn)) bool {
	return se.pushLoss(&protocol.HoldingLost{SessionID: uint64(id)}, flush)
}

// hearLosses asks a client to check its holdings if shard in has counted more losses for the session than the client
// was notified about. If the session has no connection, a later sweep asks again.
func (se *Sessions) hearLosses(in uint64, l shard.Loss) {
	if l.Count > se.remote.lossesOf(l.Session, in) && se.pushLook(l.Session, func(c Conn) { c.Flush(false) }) {
		se.remote.countLoss(l.Session, in, l.Count)
	}
}

// checkHoldings asks a client to check its holdings, because its session had lost some before its home was this shard.
func (se *Sessions) checkHoldings(id shard.SessionID, home *Replica) {
	if home.Leads() {
		se.pushLook(id, home.Mark)
	}
}

// sweptSessions is a sweep's directory, and collects the remote sessions that were asked about.
type sweptSessions struct {
	set *Set
	ids []shard.SessionID
}

// Liveness implements shard.Directory.
func (ss *sweptSessions) Liveness(id shard.SessionID) shard.Liveness {
	ss.ids = append(ss.ids, id)
	return ss.set.Liveness(id)
}

// sweepLosses reports the losses of a page's remote sessions to their home shards: immediately on the local host,
// with the next call to remote hosts.
func (t *leaderTasks) sweepLosses(remotes []shard.SessionID) {
	for _, l := range t.r.Machine.Losses(remotes, nil) {
		if s := t.r.set; s.Home(l.Session).Leads() {
			s.Sessions.hearLosses(t.r.ID, l)
		} else {
			s.HomeShards.ask(l.Session)
		}
	}
}

// lossesOf returns the losses of sessions in the shards the host leads.
func (h *HomeShards) lossesOf(ids []shard.SessionID) (list []sessionLosses) {
	for _, r := range h.set.All() {
		if !r.Leads() {
			continue
		}
		if l := r.Machine.Losses(ids, nil); len(l) > 0 {
			list = append(list, sessionLosses{r.ID, l})
		}
	}
	return list
}

// hearsLosses reports whether a home shard's leader applies a shard's losses itself.
func (h *HomeShards) hearsLosses(home, in *Replica) bool {
	if home.Leads() {
		return true
	}
	list := h.set.Meta.Machine.HostsOf(meta.ShardID(in.ID)) // unknown before the hosts are bootstrapped
	return home.reports() && (list == nil || slices.Contains(list, home.Known().Leader))
}
