package overview

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/governor"
	"github.com/signalbox/signalbox/shard/hosts"
)

// addShards adds the shards by id.
func (c *Cluster) addShards(a *protocol.ClusterDescribeAnswer) {
	redundancies := make(map[hosts.ShardID]governor.Redundancy)
	for _, r := range c.Redundancies() {
		redundancies[r.Shard] = r
	}
	for _, s := range c.Records.Shards() {
		x := protocol.ClusterShard{ID: uint64(s.ID), Change: s.Change, LeaderHostID: c.LeaderOf(s.ID)}
		if c.Now < s.WishUntil {
			x.WishHostID, x.WishMillis = uint64(s.Wish), s.WishUntil-c.Now
		}
		seen := c.seenShard(s.ID)
		if seen != nil {
			x.LedMillis, x.ReportMillis = seen.LedFor, seen.Age
		}
		for i := range s.Replicas {
			x.Replicas.Append(c.replica(&s.Replicas[i], seen))
		}
		if r, ok := redundancies[s.ID]; ok {
			x.Redundancy = redundancyOf(&r)
		}
		a.Shards.Append(x)
	}
}

// Redundancies are what each shard can lose, nil where nothing is observed.
func (c *Cluster) Redundancies() []governor.Redundancy {
	if c.Seen == nil {
		return nil
	}
	return governor.Redundancies(c.view())
}

// LeaderOf returns the host that leads a shard, 0 where none is known.
func (c *Cluster) LeaderOf(id hosts.ShardID) uint64 {
	if c.Seen == nil {
		return uint64(c.Leader(id))
	}
	if seen := c.seenShard(id); seen != nil {
		return uint64(seen.Leader)
	}
	return 0
}

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

func (c *Cluster) replica(p *hosts.Replica, seen *governor.ShardSeen) protocol.ClusterReplica {
	x := protocol.ClusterReplica{
		ID: p.ID, HostID: uint64(p.Host), Role: protocol.ReplicaRole(p.Role), AgeMillis: c.age(p.Since),
	}
	if seen == nil {
		return x
	}
	for i := range seen.Replicas {
		if r := &seen.Replicas[i]; r.ID == p.ID {
			x.Observed, x.Index, x.BehindMillis = true, r.Index, r.BehindFor
			x.SnapshotPercent, x.SnapshotRate = r.Percent, r.Rate
		}
	}
	return x
}

func redundancyOf(r *governor.Redundancy) protocol.Redundancy {
	x := protocol.Redundancy{
		Wanted: uint64(r.Wanted), Voters: uint64(r.Voters), Live: uint64(r.Live),
		Tolerated: uint64(max(0, r.Tolerated)), Lost: r.Tolerated < 0,
	}
	for _, d := range r.Domains {
		x.Domains.Append(protocol.DomainLoss{
			Label: []byte(d.Key + "=" + d.Value), Live: uint64(d.Live), Tolerated: d.Tolerated,
		})
	}
	return x
}
