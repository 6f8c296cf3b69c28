package replica

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// When a semaphore is deleted by force, its owners are notified over their home. The notice may be lost together with
// the leader of the semaphore's shard. So a guest counts its losses in the log of that shard, the count goes to the
// leader of the home with every sweep, and the home has a client look at what it holds if the home has not counted as
// many notices.

// lostHolding is the loss of a holding on its way to the home of the session.
type lostHolding struct {
	protocol.HoldingLost
	// Shard is the shard of the holding, and Losses the number of the loss among those of the session there. Both are 0
	// if the shard counts none.
	Shard  uint64 `json:",omitempty"`
	Losses uint64 `json:",omitempty"`
}

// guestLosses are the losses of sessions in one shard.
type guestLosses struct {
	Shard    uint64       `json:"shard"`
	Sessions []shard.Loss `json:"sessions"`
}

// countLoss counts a notice about a loss in a shard, and returns whether notices before were missed.
func (g *guests) countLoss(id shard.SessionID, in, n uint64) (missed bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.losses == nil {
		g.losses = make(map[shard.SessionID]map[uint64]uint64)
	}
	if g.losses[id] == nil {
		g.losses[id] = make(map[uint64]uint64)
	}
	before := g.losses[id][in]
	g.losses[id][in] = max(n, before)
	return n > before+1
}

// lossesOf returns how many losses of a session in a shard its client has been notified of.
func (g *guests) lossesOf(id shard.SessionID, in uint64) uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.losses[id][in]
}

// forgetLosses is called when a leadership begins: what an earlier leader has sent is not known.
func (g *guests) forgetLosses() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.losses = nil
}

// notifyLoss sends the loss of a holding over the connections of a session of this home. If earlier losses were
// missed, the client is to look at what it holds.
func (r *Replica) notifyLoss(lost *lostHolding, flush func(Conn)) {
	id := shard.SessionID(lost.SessionID)
	if sent := r.pushLoss(&lost.HoldingLost, flush); !sent || lost.Losses == 0 || !r.Leads() {
		return
	}
	if r.guests.countLoss(id, lost.Shard, lost.Losses) {
		r.pushLook(id, flush)
	}
}

// pushLook has the client of a session look at what the session holds, and returns whether the client can be reached.
func (r *Replica) pushLook(id shard.SessionID, flush func(Conn)) bool {
	return r.pushLoss(&protocol.HoldingLost{SessionID: uint64(id)}, flush)
}

// hearLosses compares the number of a session's losses in a shard with the notices. A session without a connection is
// left for a later sweep.
func (r *Replica) hearLosses(in uint64, l shard.Loss) {
	if l.Count > r.guests.lossesOf(l.Session, in) && r.pushLook(l.Session, func(c Conn) { c.Flush(false) }) {
		r.guests.countLoss(l.Session, in, l.Count)
	}
}

// sweptGuests is the directory of a sweep, and keeps the guests that were asked about.
type sweptGuests struct {
	*Set
	ids []shard.SessionID
}

// Liveness implements shard.Directory.
func (g *sweptGuests) Liveness(id shard.SessionID) shard.Liveness {
	g.ids = append(g.ids, id)
	return g.Set.Liveness(id)
}

// sweepLosses has the homes of the guests of a page hear of their losses: those of this host at once, the others with
// the next call.
func (t *leaderTasks) sweepLosses(guests []shard.SessionID) {
	for _, l := range t.r.Machine.Losses(guests, nil) {
		if home := t.r.set.Of(l.Session.Slot()); home.Leads() {
			home.hearLosses(t.r.ID, l)
		} else {
			t.r.set.homes.ask(home, l.Session)
		}
	}
}

// lossesOf returns the losses of sessions in the shards that this host leads.
func (s *Set) lossesOf(ids []shard.SessionID) (list []guestLosses) {
	for _, r := range s.Replicas {
		if !r.Leads() {
			continue
		}
		if l := r.Machine.Losses(ids, nil); len(l) > 0 {
			list = append(list, guestLosses{r.ID, l})
		}
	}
	return list
}

// hearsLosses reports whether the leader of a home applies the losses in a shard itself.
func (s *Set) hearsLosses(home, in *Replica) bool {
	if home.Leads() {
		return true
	}
	list := s.Meta.Machine.HostsOf(meta.ShardID(in.ID)) // none is known before the hosts are founded
	return home.reports() && (list == nil || slices.Contains(list, home.Known().Leader))
}
