package server

import (
	"github.com/signalbox/signalbox/server/admin"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
	"github.com/signalbox/signalbox/shard/meta"
)

// Status is the state of a host, for people and tools.
type Status struct {
	// Fresh: the host may speak for every shard with sessions that it leads.
	Fresh          bool
	RoutingVersion uint64
	// Generation counts how often the cluster was restored or recovered.
	Generation uint64
	Level      Level
	Hosts      []meta.Host // by id
	Shards     []ShardStatus
}

// ShardStatus is the state of a data shard on this host.
type ShardStatus struct {
	ID uint64
	admin.ShardContent
}

// Status returns the state of the host now.
func (h *Host) Status() Status {
	now := h.config.Clock()
	s := Status{Fresh: true, RoutingVersion: h.meta.RoutingVersion(), Level: h.Level(),
		Generation: h.meta.Machine.Generation().Number, Hosts: h.meta.Machine.Hosts()}
	for _, r := range h.replicas {
		count := r.Machine.Count()
		queued, flying := r.Pipeline.Waiting()
		if r.Holds() && r.Doubtful(now) {
			s.Fresh = false
		}
		shown := ShardStatus{r.ID, admin.ShardContent{
			Serving: r.Leads() && r.Serving(), Sessions: count.Sessions, Attached: r.Leases.Counts().Attached,
			Guests: count.Guests, Semaphores: count.OfKind[shard.KindSemaphore], Waiters: count.Waiters,
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

// ShardClock returns the time of a data shard by this host's replica, zero for an unknown shard.
func (h *Host) ShardClock(id uint64) clock.Clock {
	if id == 0 || id > uint64(len(h.replicas)) {
		return clock.Clock{}
	}
	return h.replicas[id-1].Machine.Clock()
}
