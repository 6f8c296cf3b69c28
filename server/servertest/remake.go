package servertest

import (
	"errors"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
)

// InitialMember is the record that a host has in a cluster which is made of a backup, and whose first host it is.
func InitialMember(id shard.HostID) hosts.InitialMember {
	return hosts.InitialMember{ID: id, Name: Name(id), Incarnation: Incarnation(id), Version: version,
		Level: level.Newest, Addresses: hosts.Addresses{Raft: raftAddress(id), Client: Address(id)}}
}

// Remake makes another cluster in the place of this one, of machines that were made of a backup, and starts its first
// host. All hosts of before are ended abruptly, and none of them may be started again. Others may Join.
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
