package server

import (
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// Status is the state of a host, for people and tools.
type Status struct {
	// Fresh: the host may speak for every shard with sessions that it leads.
	Fresh          bool
	RoutingVersion uint64
	// Generation counts how often the cluster was restored or recovered.
	Generation uint64
	Level      Level
	Hosts      []HostRecord // by id
	Shards     []ShardStatus
}

// HostRecord is the cluster's record of one host.
type HostRecord struct {
	ID            shard.HostID
	Name          string
	ClientAddress string
	RaftAddress   string
	AdminAddress  string
	Version       string
}

// ShardStatus is the state of a data shard on this host.
type ShardStatus struct {
	ID      uint64
	Leader  shard.HostID // 0: not known here
	Term    uint64
	Applied uint64
	// Serving: this host leads the shard, and sessions may attach.
	Serving bool
	// ProofAge is how long ago the latest successful barrier began; below zero: there was none.
	ProofAge time.Duration

	Sessions, Attached, Guests, Semaphores, Waiters, Watches, Queued, InFlight int
}

// Status returns the state of the host now.
func (h *Host) Status() Status {
	now := h.now()
	s := Status{Fresh: true, RoutingVersion: h.meta.RoutingVersion(), Level: h.Level(),
		Generation: h.meta.Machine.Generation().Number}
	for _, x := range h.meta.Machine.Hosts() {
		s.Hosts = append(s.Hosts, HostRecord{
			ID: x.ID, Name: x.Name, ClientAddress: x.ClientAddress, RaftAddress: x.RaftAddress,
			AdminAddress: x.AdminAddress, Version: x.Version,
		})
	}
	for _, r := range h.replicas {
		l, count := r.Known(), r.Machine.Count()
		queued, flying := r.Pipeline.Waiting()
		if r.Holds() && r.Doubtful(now) {
			s.Fresh = false
		}
		age := r.ProofAge(now)
		if age > 1<<62 {
			age = -1
		}
		s.Shards = append(s.Shards, ShardStatus{
			ID: r.ID, Leader: l.Leader, Term: l.Term, Applied: r.AppliedIndex(),
			Serving: r.Leads() && r.Serving(), ProofAge: age,
			Sessions: count.Sessions, Attached: r.Leases.Counts().Attached, Guests: count.Guests,
			Semaphores: count.OfKind[shard.KindSemaphore], Waiters: count.Waiters, Watches: r.Hub.Len(),
			Queued: queued, InFlight: flying,
		})
	}
	return s
}

// ShardClock returns the time of a data shard by this host's replica, zero for an unknown shard.
func (h *Host) ShardClock(id uint64) clock.Clock {
	for _, r := range h.replicas {
		if r.ID == id {
			return r.Machine.Clock()
		}
	}
	return clock.Clock{}
}
