package overview

import (
	"github.com/signalbox/signalbox/protocol/field"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// Shards returns all shards by id, without removed shards whose replicas are still to be deleted.
func (c *Cluster) Shards() []host.Shard {
	redundancies := make(map[hosts.ShardID]host.Redundancy)
	for _, r := range c.Redundancies() {
		redundancies[r.Shard] = r.Redundancy
	}
	list := []host.Shard{}
	for _, s := range c.Records.Shards() {
		if s.Phase == hosts.ShardRetired {
			continue
		}
		x := host.Shard{ID: uint64(s.ID), Change: s.Change, Redundancy: redundancies[s.ID]}
		if x.Tolerated >= 0 { // the last known leader of a shard without a quorum no longer leads
			x.Leader = c.LeaderOf(s.ID)
		}
		if c.Now < s.WishUntil {
			x.PreferredLeader, x.PreferredLeaderFor = uint64(s.Wish), left(c.Now, s.WishUntil)
		}
		seen := c.seenShard(s.ID)
		if seen != nil {
			x.Led, x.Reported = field.Duration(seen.LedFor), field.Duration(seen.Age)
		}
		for i := range s.Replicas {
			x.Replicas = append(x.Replicas, c.replica(&s.Replicas[i], seen))
		}
		list = append(list, x)
	}
	return list
}

// Redundancies returns the failure tolerance of every shard, nil without observations.
func (c *Cluster) Redundancies() []governor.Redundancy {
	if c.Seen == nil {
		return nil
	}
	return governor.Redundancies(c.view())
}

// LeaderOf returns a shard's leader, 0 if unknown.
func (c *Cluster) LeaderOf(id hosts.ShardID) uint64 {
	if c.Seen == nil {
		return uint64(c.Leader(id))
	}
	if seen := c.seenShard(id); seen != nil {
		return uint64(seen.Leader)
	}
	return 0
}

// seenShard returns the governor's observations of a shard, nil without observations.
func (c *Cluster) seenShard(id hosts.ShardID) *governor.ShardSeen {
	if c.Seen == nil {
		return nil
	}
	for i := range c.Seen.Shards {
		if s := &c.Seen.Shards[i]; s.Shard == id {
			return s
		}
	}
	return nil
}

// replica converts a replica to its protocol form. The index, the lag and the snapshot progress come from the shard's
// leader, so they are empty unless the leader has reported the replica.
func (c *Cluster) replica(p *hosts.Replica, seen *governor.ShardSeen) host.Replica {
	x := host.Replica{ID: p.ID, Host: uint64(p.Host), Role: p.Role, Since: c.Age(p.Since)}
	if seen == nil {
		return x
	}
	for i := range seen.Replicas {
		if r := &seen.Replicas[i]; r.ID == p.ID {
			x.Observed, x.Index, x.Behind = true, r.Index, field.Duration(r.BehindFor)
			x.SnapshotPercent, x.SnapshotRate = int(r.Percent), r.Rate
		}
	}
	return x
}
