package server

import (
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
)

// routes is what this host says to clients of where things are.
type routes struct {
	host      *Host
	announced atomic.Uint64 // the version that was last announced to clients
}

// announce pushes to all connections that there is a newer routing, once for each version.
func (r *routes) announce() {
	v := r.host.meta.RoutingVersion()
	if r.announced.Swap(v) == v {
		return
	}
	push := protocol.RoutingChanged{Version: v}
	r.host.eachConn(func(c *conn) {
		if c.welcomed.Load() {
			c.Push(0, &push)
			c.flush()
		}
	})
}

// routing answers where everything is.
func (c *conn) routing(id uint64, m *protocol.Routing) {
	h := c.host
	answer := protocol.RoutingAnswer{Version: h.meta.RoutingVersion(), MetaShardID: replica.MetaShard}
	if m.KnownVersion == answer.Version {
		c.Answer(id, &answer)
		return
	}
	var ids protocol.HostIDs
	for _, x := range h.meta.Machine.Hosts() {
		answer.Hosts.Append(protocol.Host{
			ID: uint64(x.ID), Name: []byte(x.Name), Address: []byte(x.ClientAddress), State: x.Current,
		})
	}
	for _, member := range h.config.Hosts {
		host := protocol.HostID(member)
		ids.Append(host)
	}
	answer.Shards.Append(protocol.Shard{
		ID: replica.MetaShard, LeaderHostID: uint64(h.meta.Leader().Leader), ReplicaHostIDs: ids,
	})
	for _, r := range h.replicas {
		answer.Shards.Append(protocol.Shard{
			ID: r.ID, LeaderHostID: uint64(r.Leader().Leader), ReplicaHostIDs: ids,
		})
	}
	for _, g := range h.meta.Machine.Routing().Ranges {
		answer.Slots.Append(protocol.SlotRange{First: uint64(g.First), Last: uint64(g.Last), ShardID: uint64(g.Shard)})
	}
	c.Answer(id, &answer)
}
