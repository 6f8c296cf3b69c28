package server

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// routes announces to clients where hosts and leaders are.
type routes struct {
	host      *Host
	announced atomic.Uint64 // the version last announced to clients
	at        time.Time     // when it was announced; used on the host's loop only
	// led is the term of every shard's last announced leader. Used on the host's loop only.
	led map[uint64]uint64
}

// announceSlotsEvery is the shortest interval between two announcements if only owners of slots have changed: a client
// learns an owner from MOVED, and many slots may move.
const announceSlotsEvery = 10 * time.Second

// announce pushes a newer routing to all connections, at most once per version.
func (r *routes) announce(now time.Time) {
	v, before := r.host.meta.RoutingVersion(), r.announced.Load()
	if v == before || uint32(v) == uint32(before) && now.Sub(r.at) < announceSlotsEvery {
		return
	}
	r.announced.Store(v)
	r.at = now
	r.host.conns.Push(false, &protocol.RoutingChanged{Version: v})
}

// announceLeaders pushes new leaders to all connections, once per shard term, so that clients that need a leader need
// not ask repeatedly. The pushes run on a separate goroutine and do not delay the host's loop, which has a new
// leader's work to do.
func (r *routes) announceLeaders() {
	h := r.host
	news := r.heard(nil, replica.MetaShard, h.meta.Known())
	for _, rp := range h.set.All() {
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

// heard appends a shard's leader, if the leader has not been announced.
func (r *routes) heard(news []protocol.RoutingChanged, id uint64, l shard.Leadership) []protocol.RoutingChanged {
	if l.Leader == 0 || l.Term <= r.led[id] {
		return news
	}
	r.led[id] = l.Term
	return append(news, protocol.RoutingChanged{
		Version: r.host.meta.RoutingVersion(), ShardID: id, LeaderHostID: uint64(l.Leader), Term: l.Term,
	})
}

// push pushes new leaders to all connections.
func (r *routes) push(news []protocol.RoutingChanged) {
	messages := make([]protocol.PushMessage, len(news))
	for i := range news {
		messages[i] = &news[i]
	}
	r.host.conns.Push(false, messages...)
}

// ReadersOf returns the hosts with a filled replica of the shard. Before bootstrap, ReadersOf returns all hosts.
func (h *Host) ReadersOf(id uint64) []shard.HostID {
	if h.meta.Machine.Bootstrapped() {
		return h.meta.Machine.ReadersOf(meta.ShardID(id))
	}
	return h.config.Hosts
}
