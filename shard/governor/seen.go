package governor

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Seen is what the leader of the meta shard observes: facts that are in no log. Times are ages in milliseconds by the
// leader's clock.
type Seen struct {
	// Self is the host of that leader, Began the shard time at which its term began.
	Self  shard.HostID
	Began uint64
	Hosts []HostSeen
	// Shards has the reports of the leaders of the shards, the meta shard among them.
	Shards []ShardSeen
}

// HostSeen is what Raft traffic says of a host.
type HostSeen struct {
	Host shard.HostID
	// Tried is set once the leader has sent Raft messages to it. A host that it has not tried is not judged.
	Tried bool
	// SilentFor is how long it has not been heard; where it never was, how long that has been tried.
	SilentFor uint64
	// Unheard is set where nothing was heard of it since the leader leads: it may live or not, until it is heard or has
	// been silent for too long.
	Unheard bool
	// StuckFor is how long it has taken none of the meta shard's entries although there were some; 0 where it goes on.
	StuckFor uint64
	// FreshFor is how long its own barriers on the meta shard have succeeded without a gap, 0 where they do not.
	// Barrier is how long ago the last that succeeded began.
	FreshFor, Barrier uint64
	// Full is set where its disk is nearly full: it takes no more of the log.
	Full bool
}

// ShardSeen is what the leader of a shard reports.
type ShardSeen struct {
	Shard hosts.ShardID
	// Leader is 0 where none is known.
	Leader shard.HostID
	// LedFor is how long it leads, Age how old the report is.
	LedFor, Age uint64
	// Change numbers the membership, as read with a barrier.
	Change   uint64
	Replicas []ReplicaSeen
}

// ReplicaSeen is how far a replica is, by what it has acknowledged to the leader of its shard.
type ReplicaSeen struct {
	ID uint64
	// Index is the last that it has acknowledged.
	Index uint64
	// BehindFor is for how much of the traffic it lags: how long ago the leader had committed no more than that.
	BehindFor uint64
	// Percent is how much of a snapshot it has got, Rate in bytes a second; both 0 where it is sent none.
	Percent, Rate uint64
}

const (
	// liveMillis is how long ago a host that counts as alive was heard.
	liveMillis = 2_000
	// latelyMillis is how long ago one was heard that is needed once another is removed.
	latelyMillis = 1_000
	// reportMillis is how old a report of a shard's leader may be.
	reportMillis = 5_000
	// behindMillis is how far a replica that is up to date may lag.
	behindMillis = 1_000
	// lostMillis is after how long a learner that never catches up is removed, to begin anew.
	lostMillis = 3600_000
	// restMillis is how long a leader leads before its leadership is handed over to spread the load.
	restMillis = 10_000
)

func (s *Seen) host(id shard.HostID) *HostSeen {
	for i := range s.Hosts {
		if s.Hosts[i].Host == id {
			return &s.Hosts[i]
		}
	}
	return nil
}

func (s *Seen) shard(id hosts.ShardID) *ShardSeen {
	for i := range s.Shards {
		if s.Shards[i].Shard == id {
			return &s.Shards[i]
		}
	}
	return nil
}

func (s *ShardSeen) replica(id uint64) *ReplicaSeen {
	for i := range s.Replicas {
		if s.Replicas[i].ID == id {
			return &s.Replicas[i]
		}
	}
	return nil
}

// live reports whether a host was heard lately.
func (s *Seen) live(id shard.HostID) bool { return s.mayLive(id) && !s.unheard(id) }

// mayLive reports whether a host was heard lately, or has not been tried for long enough to say that it was not.
func (s *Seen) mayLive(id shard.HostID) bool {
	h := s.host(id)
	return id == s.Self || h != nil && h.Tried && h.SilentFor < liveMillis
}

// unheard reports whether it is not known yet whether a host lives.
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
	}
	return &c
}

// pass returns the observations after so many milliseconds in which each host goes on as it does.
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
