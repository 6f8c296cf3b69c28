package server

import (
	"slices"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// routes is the announcements of this host to clients about the places of hosts and leaders.
type routes struct {
	host      *Host
	announced atomic.Uint64 // the version that was last announced to clients
	// led is the term of the last announced leader of each shard. It is used on the host's loop only.
	led map[uint64]uint64
}

// announce pushes a newer routing to all connections, once for each version.
func (r *routes) announce() {
	v := r.host.meta.RoutingVersion()
	if r.announced.Swap(v) == v {
		return
	}
	r.push([]protocol.RoutingChanged{{Version: v}})
}

// announceLeaders pushes new leaders to all connections, once for each term of a shard, so that clients in need of a
// leader need not ask again and again. The pushes run on a goroutine of their own and do not hold up the host's loop,
// which has a new leader's work to do.
func (r *routes) announceLeaders() {
	h := r.host
	news := r.heard(nil, replica.MetaShard, h.meta.Known())
	for _, rp := range h.replicas {
		news = r.heard(news, rp.ID, rp.Known())
	}
	if len(news) > 0 {
		go r.push(news)
	}
	own := func(n protocol.RoutingChanged) bool { return n.LeaderHostID == uint64(h.config.ID) }
	if h.config.Leads != nil && slices.ContainsFunc(news, own) {
		h.config.Leads()
	}
}

// heard appends the leader of a shard, if the leader has not been announced.
func (r *routes) heard(news []protocol.RoutingChanged, id uint64, l shard.Leadership) []protocol.RoutingChanged {
	if l.Leader == 0 || l.Term <= r.led[id] {
		return news
	}
	r.led[id] = l.Term
	return append(news, protocol.RoutingChanged{
		Version: r.host.meta.RoutingVersion(), ShardID: id, LeaderHostID: uint64(l.Leader), Term: l.Term,
	})
}

func (r *routes) push(news []protocol.RoutingChanged) {
	r.host.eachConn(func(c *conn) {
		if !c.welcomed.Load() {
			return
		}
		for i := range news {
			c.Push(0, &news[i])
		}
		c.flush()
	})
}

// readersOf returns the hosts with a filled replica of a shard: until the hosts are founded, all hosts.
func (h *Host) readersOf(id uint64) (ids protocol.HostIDs) {
	members := h.config.Hosts
	if h.meta.Machine.Founded() {
		members = h.meta.Machine.ReadersOf(meta.ShardID(id))
	}
	for _, member := range members {
		ids.Append(protocol.HostID(member))
	}
	return ids
}

// routing answers where everything is.
func (c *conn) routing(id uint64, m *protocol.Routing) {
	h := c.host
	answer := protocol.RoutingAnswer{Version: h.meta.RoutingVersion(), MetaShardID: replica.MetaShard}
	if m.KnownVersion == answer.Version {
		c.Answer(id, &answer)
		return
	}
	for _, x := range h.meta.Machine.Hosts() {
		answer.Hosts.Append(protocol.Host{
			ID: uint64(x.ID), Name: []byte(x.Name), Address: []byte(x.ClientAddress), State: x.Current,
		})
	}
	answer.Shards.Append(protocol.Shard{
		ID: replica.MetaShard, LeaderHostID: uint64(h.meta.Known().Leader),
		ReplicaHostIDs: h.readersOf(replica.MetaShard),
	})
	for _, r := range h.replicas {
		answer.Shards.Append(protocol.Shard{
			ID: r.ID, LeaderHostID: uint64(r.Known().Leader), ReplicaHostIDs: h.readersOf(r.ID),
		})
	}
	for _, g := range h.meta.Machine.Routing().Ranges {
		answer.Slots.Append(protocol.SlotRange{First: uint64(g.First), Last: uint64(g.Last), ShardID: uint64(g.Shard)})
	}
	c.Answer(id, &answer)
}
