package status

import (
	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/cmd/signalbox/internal/cli"
)

// copyOfShard is whether a host has a replica of a shard, and whether the replica votes.
type copyOfShard struct{ there, votes bool }

// copyOn returns a shard's replica on a host, according to the records. Without records, a host has a replica if it
// has applied entries or leads.
func copyOn(records *admin.Cluster, said *client.ShardStatus, host uint64) (c copyOfShard) {
	if records == nil {
		c.there = said.AppliedIndex > 0 || said.Leader == host
		return copyOfShard{c.there, c.there}
	}
	for i := range records.Shards {
		for _, p := range records.Shards[i].Replicas {
			if records.Shards[i].ID == said.ID && p.Host == host && (p.Role == admin.Voter || p.Role == admin.Learner) {
				c = copyOfShard{true, p.Role == admin.Voter}
			}
		}
	}
	return c
}

// judged returns the report from a host with the replica, without the leader if no host confirms it. The leader's own
// report counts. If the leader does not answer, or answered before it led, a voter's report counts. A learner takes
// no part in elections, and keeps reporting a failed leader.
func (c copyOfShard) judged(said client.ShardStatus, hosts []client.HostStatus) *client.ShardStatus {
	led := c.votes
	for i := range hosts {
		if h := &hosts[i]; h.ID == said.Leader && h.Err == nil {
			if own := reportOf(h, said.ID); own.Term >= said.Term {
				led = own.Leader == h.ID
			}
		}
	}
	if !led {
		said.Leader = 0
	}
	return &said
}

// reportOf returns a host's report on a shard, zero if the host reports nothing about the shard.
func reportOf(h *client.HostStatus, shard uint64) (x client.ShardStatus) {
	if shard == h.Meta.ID {
		return h.Meta
	}
	if x := cli.Find(h.Shards, func(x *client.ShardStatus) bool { return x.ID == shard }); x != nil {
		return *x
	}
	return x
}
