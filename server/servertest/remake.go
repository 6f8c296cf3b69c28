package servertest

import (
	"errors"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// InitialMember is a host's record in a restored cluster with this host as its first.
func InitialMember(id shard.HostID) hosts.InitialMember {
	return hosts.InitialMember{ID: id, Name: Name(id), Incarnation: Incarnation(id), Version: version,
		Level: level.Newest, Addresses: hosts.Addresses{Raft: raftAddress(id), Client: Address(id)}}
}

// Remake replaces this cluster by a new one with machines restored from a backup, and starts its first host. All old
// hosts are ended abruptly, and must not be restarted. More hosts may Join.
func (c *Cluster) Remake(m *backup.Machines) error {
	for _, id := range c.Members() {
		c.Crash(id, false)
	}
	t, bootstrapped := m.Meta.Topology()
	if !bootstrapped {
		return errors.New("servertest: the new cluster has no host")
	}
	first := t.Records.LastHost()
	routing := m.Meta.Routing()
	c.mu.Lock()
	c.bootstrapped, c.members = []shard.HostID{first}, firstIDs(int(first))
	c.known[first] = c.bootstrapped
	c.options.shards = len(routing.Shards)
	c.mu.Unlock()
	on := func(id hosts.ShardID) uint64 { return t.Records.Shard(id).On(first).ID }
	shards := []Remade{{Shard: 0, Replica: on(0), Machine: m.Meta}}
	for i, id := range routing.Shards {
		shards = append(shards, Remade{uint64(id), on(hosts.ShardID(id)), m.Data[i]})
	}
	if err := c.logs.Remake(first, shards); err != nil {
		return err
	}
	return c.open(first)
}

// shards is the number of data shards.
func (c *Cluster) shards() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.options.shards
}
