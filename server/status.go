package server

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// Status is a host's state, for operators and tools.
type Status struct {
	// Fresh reports whether the host may vouch for every shard with sessions it leads.
	Fresh          bool
	RoutingVersion uint64
	// Generation counts cluster restores and recoveries.
	Generation uint64
	Level      Level
	Hosts      []meta.Host // by id
	Shards     []ShardStatus
}

// ShardStatus is a data shard's state on the host.
type ShardStatus struct {
	ID uint64
	admin.ShardContent
}

// Status returns the host's current state.
func (h *Host) Status() Status {
	now := h.config.Clock()
	s := Status{Fresh: true, RoutingVersion: h.meta.RoutingVersion(), Level: h.Level(),
		Generation: h.meta.Machine.Generation().Number, Hosts: h.meta.Machine.Hosts()}
	for _, r := range h.set.All() {
		count := r.Machine.Count()
		queued, flying := r.Pipeline.Waiting()
		if r.Holds() && r.Doubtful(now) {
			s.Fresh = false
		}
		shown := ShardStatus{r.ID, admin.ShardContent{
			Serving: r.Leads() && r.Serving(), Sessions: count.Sessions, Attached: r.Leases.Counts().Attached,
			RemoteSessions: count.RemoteSessions, Semaphores: count.OfKind[shard.KindSemaphore], Waiters: count.Waiters,
			Watches: r.Hub.Len(), Queued: queued, InFlight: flying,
		}}
		if age := r.ProofAge(now); age <= 1<<62 {
			seconds := age.Seconds()
			shown.ProofAgeSeconds = &seconds
		}
		s.Shards = append(s.Shards, shown)
	}
	return s
}

// ShardClock returns a data shard's time in the local replica, zero for an unknown shard.
func (h *Host) ShardClock(id uint64) clock.Clock {
	if r := h.set.Shard(id); r != nil {
		return r.Machine.Clock()
	}
	return clock.Clock{}
}

// HostStatus is what the host reports of itself to clients.
func (h *Host) HostStatus() *protocol.HostStatusAnswer {
	now := h.config.Clock()
	a := &protocol.HostStatusAnswer{
		HostID: uint64(h.config.ID), HostName: []byte(h.config.Name), Version: []byte(h.config.Version),
		UptimeMillis: uint64(now.Sub(h.set.Started).Milliseconds()), Connections: uint64(h.conns.Len()), Fresh: true,
	}
	at := h.Level()
	a.Level = protocol.FeatureLevel{
		Cluster: uint64(at.Cluster), Newest: uint64(at.Newest), HeldBy: []byte(clip(at.Holders())),
	}
	if err := h.refusal(); err != nil {
		a.Refusal = []byte(clip(err.Error()))
	}
	l := h.meta.Leader()
	a.Meta = protocol.ShardStatus{
		ID: replica.MetaShard, LeaderHostID: uint64(l.Leader), Term: l.Term, AppliedIndex: h.meta.AppliedIndex(),
	}
	for _, rp := range h.set.All() {
		if rp.Holds() && rp.Doubtful(now) {
			a.Fresh = false
		}
		a.Sessions += uint64(rp.Leases.Counts().Attached)
		count, l := rp.Machine.Count(), rp.Known()
		a.Shards.Append(protocol.ShardStatus{
			ID: rp.ID, LeaderHostID: uint64(l.Leader), Term: l.Term, AppliedIndex: rp.AppliedIndex(),
			Sessions: uint64(count.Sessions), Semaphores: uint64(count.OfKind[shard.KindSemaphore]),
			Waiters: uint64(count.Waiters), Rollouts: uint64(count.OfKind[shard.KindRollout]),
			Processes: uint64(count.OfKind[shard.KindProcess]),
		})
	}
	return a
}

// clip returns as much of a text as a result may have.
func clip(text string) string { return text[:min(len(text), protocol.MaxMessageBytes)] }
