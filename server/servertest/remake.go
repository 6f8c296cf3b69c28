package servertest

import (
	"bytes"
	"errors"

	"github.com/signalbox/signalbox/protocol/level"
	"github.com/signalbox/signalbox/server/backup"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/test/memlog"
)

// Founder is the record that a host has in a cluster which is made of a backup, and whose first host it is.
func Founder(id shard.HostID) hosts.Founder {
	return hosts.Founder{ID: id, Name: Name(id), Incarnation: Incarnation(id), Version: version, Level: level.Newest,
		Addresses: hosts.Addresses{Raft: raftAddress(id), Client: Address(id)}}
}

// Remake makes another cluster in the place of this one, of machines that were made of a backup, and starts its first
// host. All hosts of before are ended abruptly, and none of them may be started again. Others may Join.
func (c *Cluster) Remake(m *backup.Machines) error {
	for _, id := range c.Members() {
		c.Crash(id, false)
	}
	t, founded := m.Meta.Topology()
	if !founded {
		return errors.New("servertest: the new cluster has no host")
	}
	first := t.Records.LastHost()
	routing := m.Meta.Routing()
	c.mu.Lock()
	c.born, c.members = []shard.HostID{first}, firstIDs(int(first))
	c.known[first] = c.born
	c.options.shards = len(routing.Shards)
	c.mu.Unlock()
	if err := c.remakeGroup(t.Records, 0, m.Meta); err != nil {
		return err
	}
	for i, id := range routing.Shards {
		if err := c.remakeGroup(t.Records, id, m.Data[i]); err != nil {
			return err
		}
	}
	return c.open(first)
}

// remakeGroup makes the group of a shard anew, with the first host as its only member.
func (c *Cluster) remakeGroup(r *hosts.Records, id meta.ShardID, of interface {
	PrepareSnapshot() (shard.Snapshot, error)
}) error {
	state, err := of.PrepareSnapshot()
	if err != nil {
		return err
	}
	defer state.Discard()
	var saved bytes.Buffer
	if err := state.Save(&saved, nil); err != nil {
		return err
	}
	on := r.LastHost()
	replica := r.Shard(hosts.ShardID(id)).On(on).ID
	c.mu.Lock()
	c.joined[place{on, uint64(id)}] = replica
	c.mu.Unlock()
	return c.network.Remake(memlog.GroupID(id+1), on, replica, saved.Bytes())
}

// shards is the number of data shards.
func (c *Cluster) shards() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.options.shards
}
