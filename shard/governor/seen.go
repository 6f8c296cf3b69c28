package governor

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Seen has the observations of the meta shard's leader: facts that are in no log. Times are ages in milliseconds by
// the leader's clock.
type Seen struct {
	// Self is the host of the leader, Began the shard time at the beginning of the leader's term.
	Self  shard.HostID
	Began uint64
	Hosts []HostObservation
	// Shards has the reports of the leaders of the shards, the meta shard among them.
	Shards []ShardSeen
}

// HostObservation is a host by its Raft traffic, or by its answers to calls if the host has no replica of the meta
// shard.
type HostObservation struct {
	Host shard.HostID
	// Tried is set once the leader has sent messages to the host. A host without tries is not judged.
	Tried bool
	// SilentFor is the time since the host was heard; for a host never heard, the time since the first try.
	SilentFor uint64
	// Unheard is set if nothing was heard of the host in the leader's term: the host may live or not, until it is
	// heard or has been silent for too long.
	Unheard bool
	// StuckFor is how long the host has taken no entry of the meta shard although there were some; 0 while it takes
	// entries.
	StuckFor uint64
	// FreshFor is how long the host's own barriers on the meta shard have succeeded without a gap, 0 if the last has
	// failed. Barrier is the time since the beginning of the last successful barrier.
	FreshFor, Barrier uint64
	// Full is set if the disk of the host is nearly full: the host takes no more of the log.
	Full bool
}

// ShardSeen is the report of a shard's leader.
type ShardSeen struct {
	Shard hosts.ShardID
	// Leader is 0 without a known leader.
	Leader shard.HostID
	// LedFor is how long the leader leads, Age how old the report is.
	LedFor, Age uint64
	// Change numbers the membership, as read with a barrier.
	Change   uint64
	Replicas []ReplicaSeen
	Unled    []Unled
}

// Unled is a replica that knows no leader, by the report of its host, with the last entry in the replica's log. A
// replica that was removed has none.
type Unled struct{ ID, Term, Index uint64 }

// ReplicaSeen is how far a replica is, by its acknowledgements to the leader of its shard.
type ReplicaSeen struct {
	ID uint64
	// Index is the last acknowledged index.
	Index uint64
	// BehindFor is the time since the leader had committed no more than the replica has.
	BehindFor uint64
	// Percent is the received part of a snapshot, Rate is in bytes a second; both are 0 while no snapshot is being
	// sent.
	Percent, Rate uint64
}

// CaughtUp reports whether the replica lags by no more than a moment.
func (r *ReplicaSeen) CaughtUp() bool { return r.BehindFor <= behindMillis }

const (
	// liveMillis is the longest silence of a host that counts as alive.
	liveMillis = 2_000
	// latelyMillis is the longest silence of a voter that is needed after the removal of a voter.
	latelyMillis = 1_000
	// reportMillis is how old a report of a shard's leader may be.
	reportMillis = 5_000
	// behindMillis is the longest lag of a replica that counts as up to date.
	behindMillis = 1_000
	// lostMillis is after how long a learner that never catches up is removed, to begin anew.
	lostMillis = 3600_000
	// restMillis is how long a leader leads before its leadership is handed over to spread the load.
	restMillis = 10_000
)

func (s *Seen) host(id shard.HostID) *HostObservation {
	return find(s.Hosts, int(id)-1, func(h *HostObservation) bool { return h.Host == id }) // until a host has left
}

func (s *Seen) shard(id hosts.ShardID) *ShardSeen {
	return find(s.Shards, int(id), func(seen *ShardSeen) bool { return seen.Shard == id }) // reported by id as a rule
}

func (s *ShardSeen) replica(id uint64) *ReplicaSeen {
	return find(s.Replicas, 0, func(p *ReplicaSeen) bool { return p.ID == id })
}

// find returns the entry that is looked for, which mostly has the likely place, or nil.
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

// live reports whether a host was heard lately.
func (s *Seen) live(id shard.HostID) bool { return s.mayLive(id) && !s.unheard(id) }

// mayLive reports whether a host was heard lately, or was not tried for long enough to count as silent.
func (s *Seen) mayLive(id shard.HostID) bool {
	h := s.host(id)
	return id == s.Self || h != nil && h.Tried && h.SilentFor < liveMillis
}

// unheard reports whether a host may be alive or dead, because it is not heard yet.
func (s *Seen) unheard(id shard.HostID) bool {
	h := s.host(id)
	return id != s.Self && h != nil && h.Unheard && s.mayLive(id)
}

// silentFor is how long ago a host was heard.
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

// full reports whether the disk of a host is nearly full.
func (s *Seen) full(id shard.HostID) bool {
	h := s.host(id)
	return h != nil && h.Full
}

// clone returns a copy that can be changed by itself.
func (s *Seen) clone() *Seen {
	c := *s
	c.Hosts, c.Shards = slices.Clone(s.Hosts), slices.Clone(s.Shards)
	for i := range c.Shards {
		c.Shards[i].Replicas = slices.Clone(c.Shards[i].Replicas)
		c.Shards[i].Unled = slices.Clone(c.Shards[i].Unled)
	}
	return &c
}

// pass returns the observations after some milliseconds in which every host goes on as before.
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
	}
	for i := range c.Shards {
		c.Shards[i].LedFor += millis
	}
	return c
}
