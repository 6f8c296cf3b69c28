package governor

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Seen has the observations by the meta shard's leader: facts that are not in any log. Times are ages in milliseconds
// by the leader's clock.
type Seen struct {
	// Self is the leader's host, Began the shard time when the leader's term began.
	Self  shard.HostID
	Began uint64
	Hosts []HostObservation
	// Shards has the reports from shard leaders, including the meta shard.
	Shards []ShardSeen
}

// HostObservation describes a host by its Raft traffic, or by its answers to calls if the host has no meta shard
// replica.
type HostObservation struct {
	Host shard.HostID
	// Tried is set once the leader has sent messages to the host. Before that, the host is not judged.
	Tried bool
	// SilentFor is the time since the last contact; for a host never in contact, the time since the first try.
	SilentFor uint64
	// Unheard is set if the host was never in contact during the leader's term: the host may be alive or not, until it
	// is in contact or has been silent for too long.
	Unheard bool
	// StuckFor is how long the host has not accepted any meta shard entry although there were some; 0 while it accepts
	// entries.
	StuckFor uint64
	// FreshFor is how long the host's own meta shard barriers have succeeded without a gap, 0 if the last one failed.
	// Barrier is the time since the last successful barrier began.
	FreshFor, Barrier uint64
	// Speed is how fast the host is. SlowFor is how long the host has been slow, compared with the other hosts, and
	// SteadyFor how long the host has been as fast as the other hosts (PaceOf); both are 0 otherwise.
	Speed              Speed
	SlowFor, SteadyFor uint64
	// Full is set if the disk of the host is nearly full: the host takes no more of the log.
	Full bool
}

// ShardSeen is a report from a shard's leader.
type ShardSeen struct {
	Shard hosts.ShardID
	// Leader is 0 if the leader is unknown.
	Leader shard.HostID
	// LedFor is how long the leader has led, Age how old the report is.
	LedFor, Age uint64
	// Change numbers the membership, as read with a barrier.
	Change   uint64
	Replicas []ReplicaSeen
	Unled    []Unled
	// Idle is set for a data shard with nothing to keep: no slot, no slot snapshot, no session, no pending work.
	Idle bool
	// Quota is the largest share of a quota in use, in percent: the shard's own quotas, and those of its nodes.
	Quota uint64
	// Commit is the 99th percentile of commit times in the last seconds, Usual its value before the shard's latest
	// moves of slots, both in microseconds; 0 is unknown.
	Commit, Usual uint64
	// Rest is how long the shard rests before the next slot moves.
	Rest uint64
}

// Unled is a replica that knows no leader, as reported by its host, with term and index of the replica's last log
// entry. A removed replica has no entry.
type Unled struct{ ID, Term, Index uint64 }

// ReplicaSeen is a replica's progress, by its acknowledgements to the shard leader.
type ReplicaSeen struct {
	ID uint64
	// Index is the last acknowledged index.
	Index uint64
	// BehindFor is the replica's lag: the time since the replica's last entry was the newest committed entry on the
	// leader.
	BehindFor uint64
	// Percent is the received part of a snapshot, Rate is in bytes per second; both are 0 unless a snapshot is being
	// sent.
	Percent, Rate uint64
}

// CaughtUp reports whether the replica lags by no more than behindMillis.
func (r *ReplicaSeen) CaughtUp() bool { return r.BehindFor <= behindMillis }

const (
	// liveMillis is the longest silence after which a host still counts as alive.
	liveMillis = 2_000
	// latelyMillis is the longest silence allowed for the voters that are needed after a voter's removal.
	latelyMillis = 1_000
	// reportMillis is the maximum age of a report from a shard's leader.
	reportMillis = 5_000
	// behindMillis is the largest lag of a replica that counts as up to date.
	behindMillis = 1_000
	// lostMillis is how long a learner may fail to catch up before it is removed and restarted.
	lostMillis = 3600_000
	// restMillis is how long a leader leads before load spreading may transfer its leadership.
	restMillis = 10_000
)

func (s *Seen) host(id shard.HostID) *HostObservation {
	return find(s.Hosts, int(id)-1, func(h *HostObservation) bool { return h.Host == id }) // until a host has left
}

func (s *Seen) shard(id hosts.ShardID) *ShardSeen {
	return find(s.Shards, int(id), func(seen *ShardSeen) bool { return seen.Shard == id }) // usually in id order
}

func (s *ShardSeen) replica(id uint64) *ReplicaSeen {
	return find(s.Replicas, 0, func(p *ReplicaSeen) bool { return p.ID == id })
}

// find returns the matching entry, usually at the likely index, or nil.
func find[T any](list []T, likely int, is func(*T) bool) *T {
	if likely >= 0 && likely < len(list) && is(&list[likely]) {
		return &list[likely]
	}
	for i := range list {
		if is(&list[i]) {
			return &list[i]
		}
	}
	return nil
}

// live reports whether a host was in contact recently.
func (s *Seen) live(id shard.HostID) bool { return s.mayLive(id) && !s.unheard(id) }

// mayLive reports whether a host was in contact recently, or has not been tried long enough to count as silent.
func (s *Seen) mayLive(id shard.HostID) bool {
	h := s.host(id)
	return id == s.Self || h != nil && h.Tried && h.SilentFor < liveMillis
}

// unheard reports whether a host may be alive or dead, because there was no contact yet.
func (s *Seen) unheard(id shard.HostID) bool {
	h := s.host(id)
	return id != s.Self && h != nil && h.Unheard && s.mayLive(id)
}

// silentFor is the time since the last contact with a host.
func (s *Seen) silentFor(id shard.HostID) uint64 {
	if h := s.host(id); h != nil && id != s.Self {
		return h.SilentFor
	}
	return 0
}

// freshFor is how long a host's own barriers have succeeded.
func (s *Seen) freshFor(id shard.HostID) uint64 {
	if h := s.host(id); h != nil {
		return h.FreshFor
	}
	return 0
}

// full reports whether a host's disk is nearly full.
func (s *Seen) full(id shard.HostID) bool {
	h := s.host(id)
	return h != nil && h.Full
}

// clone returns an independent copy.
func (s *Seen) clone() *Seen {
	c := *s
	c.Hosts, c.Shards = slices.Clone(s.Hosts), slices.Clone(s.Shards)
	for i := range c.Shards {
		c.Shards[i].Replicas = slices.Clone(c.Shards[i].Replicas)
		c.Shards[i].Unled = slices.Clone(c.Shards[i].Unled)
	}
	return &c
}

// pass returns the observations after some milliseconds in which every host continues unchanged.
func (s *Seen) pass(millis uint64) *Seen {
	c := s.clone()
	for i := range c.Hosts {
		h := &c.Hosts[i]
		if h.Tried && !c.live(h.Host) {
			h.SilentFor += millis
		}
		if h.FreshFor > 0 {
			h.FreshFor += millis
		}
		if h.StuckFor > 0 {
			h.StuckFor += millis
		}
		if h.SteadyFor > 0 {
			h.SteadyFor += millis
		}
	}
	for i := range c.Shards {
		c.Shards[i].LedFor += millis
		c.Shards[i].Rest -= min(c.Shards[i].Rest, millis)
	}
	return c
}
