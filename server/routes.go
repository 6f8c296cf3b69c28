package server

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// routes is what this host tells clients of where things are.
type routes struct {
	host *Host
	told atomic.Uint64 // the version that clients were last told of
}

// version grows with every change of the slot table or of a host's record, on all hosts alike. Who
// leads is not part of it: that is told with MOVED, and asked for with ROUTING.
func (r *routes) version() uint64 {
	m := r.host.meta.machine
	version := m.Routing().Version << 32
	changed := uint64(0)
	for _, h := range m.Hosts() {
		changed = max(changed, h.Changed)
	}
	return version | changed&(1<<32-1)
}

// address returns where clients reach a host, empty where it is not known.
func (r *routes) address(id shard.HostID) string {
	if id == r.host.config.ID {
		return r.host.config.ClientAddress
	}
	h, _ := r.host.meta.machine.Host(id)
	return h.ClientAddress
}

// changed tells the clients where they have an older version. It is called where batches are applied,
// so the telling is left to the host's loop.
func (r *routes) changed() { r.host.look() }

// tell pushes to all connections that there is a newer routing, once for each version.
func (r *routes) tell() {
	v := r.version()
	if r.told.Swap(v) == v {
		return
	}
	push := protocol.RoutingChanged{Version: v}
	r.host.eachConn(func(c *conn) {
		if c.said.Load() {
			c.push(0, &push)
			c.flush()
		}
	})
}

// routing answers where everything is.
func (c *conn) routing(id uint64, m *protocol.Routing) {
	h := c.host
	answer := protocol.RoutingAnswer{Version: h.routes.version(), MetaShardID: metaShard}
	if m.KnownVersion == answer.Version {
		c.answer(id, &answer)
		return
	}
	var ids protocol.HostIDs
	for _, x := range h.meta.machine.Hosts() {
		answer.Hosts.Append(protocol.Host{
			ID: uint64(x.ID), Name: []byte(x.Name), Address: []byte(x.ClientAddress), State: x.Current,
		})
	}
	for _, member := range h.config.Hosts {
		host := protocol.HostID(member)
		ids.Append(host)
	}
	answer.Shards.Append(protocol.Shard{
		ID: metaShard, LeaderHostID: uint64(h.meta.leadership.Load().Leader), ReplicaHostIDs: ids,
	})
	for _, r := range h.replicas {
		answer.Shards.Append(protocol.Shard{
			ID: r.id, LeaderHostID: uint64(r.leadership.Load().Leader), ReplicaHostIDs: ids,
		})
	}
	for _, g := range h.meta.machine.Routing().Ranges {
		answer.Slots.Append(protocol.SlotRange{First: uint64(g.First), Last: uint64(g.Last), ShardID: uint64(g.Shard)})
	}
	c.answer(id, &answer)
}
