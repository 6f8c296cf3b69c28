package meta

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/internal/codec"
)

// Requests about data shards at run time, from operators and from the governor. A governor's request names its term.

// ShardAdd adds a data shard for each host, which gets the shard's first replica. The leader has chosen the hosts.
type ShardAdd struct {
	Hosts []shard.HostID
	// Against is the governor's objection, based on its observations; empty if there is none.
	Against string
}

func (sa *ShardAdd) code(c *codec.Coder) {
	codec.List(c, &sa.Hosts, anyLength, func(id *shard.HostID) { c.Number((*uint64)(id)) })
	c.Text(&sa.Against, anyLength)
}

func (sa *ShardAdd) apply(m *Machine, at hosts.At) hosts.Answer {
	if sa.Against != "" {
		return forbidden("%s", sa.Against)
	}
	return m.followShards(m.topology.records.AddShards(at, sa.Hosts))
}

// ShardRemove orders that data shards are removed once their slots have moved away.
type ShardRemove struct{ Shards []ShardID }

func (sr *ShardRemove) code(c *codec.Coder) { codec.Uints(c, &sr.Shards, anyLength) }

func (sr *ShardRemove) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.followShards(m.topology.records.RemoveShards(at, sr.Shards))
}

// ShardWeigh sets a data shard's weight.
type ShardWeigh struct {
	Shard  ShardID
	Weight uint64
}

func (sw *ShardWeigh) code(c *codec.Coder) { codeAll(c, &sw.Shard, &sw.Weight) }

func (sw *ShardWeigh) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.WeighShard(at, sw.Shard, sw.Weight)
}

// ShardServe lets an added shard take slots. The governor has seen all voters live.
type ShardServe struct {
	Term  uint64
	Shard ShardID
}

func (ss *ShardServe) code(c *codec.Coder) { codeAll(c, &ss.Term, &ss.Shard) }

func (ss *ShardServe) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.MarkServing(at, ss.Term, ss.Shard)
}

// ShardRetire deletes a leaving shard without slots.
type ShardRetire struct {
	Term  uint64
	Shard ShardID
}

func (sr *ShardRetire) code(c *codec.Coder) { codeAll(c, &sr.Term, &sr.Shard) }

func (sr *ShardRetire) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.followShards(m.topology.records.Retire(at, sr.Term, sr.Shard))
}

// ShardRestart begins an added shard's first group again, on another host.
type ShardRestart struct {
	Term  uint64
	Shard ShardID
	Group uint64 // the group that has not begun
	Host  shard.HostID
}

func (sr *ShardRestart) code(c *codec.Coder) { codeAll(c, &sr.Term, &sr.Shard, &sr.Group, &sr.Host) }

func (sr *ShardRestart) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.BeginAgain(at, sr.Term, sr.Shard, sr.Group, sr.Host)
}

// Rebalance is an operator's order about moves by weights.
type Rebalance struct{ Action protocol.RebalanceAction }

func (r *Rebalance) code(c *codec.Coder) { codec.Small(c, &r.Action) }

func (r *Rebalance) apply(m *Machine, at hosts.At) hosts.Answer {
	return m.topology.records.SetRebalance(at, r.Action)
}

// followShards updates the routing's list of data shards.
func (m *Machine) followShards(a hosts.Answer) hosts.Answer {
	list := m.topology.dataShards()
	if slices.Equal(list, m.routing.Shards) {
		return a
	}
	m.routing.Shards = list
	m.routing.Version++
	m.forgetPending(list)
	return a
}
