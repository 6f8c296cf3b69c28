package client

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/signalbox/signalbox/protocol"
)

// cluster is the hosts that the client knows, and what it knows of the routing.
type cluster struct {
	client *Client
	routes atomic.Pointer[routes]

	mu         sync.Mutex // guards what follows; a host's lock is taken under it
	id         string     // empty until a host was met
	hosts      []*host    // those with an id, and those that were given to Open and have not been met
	refreshing chan struct{}
	refreshed  instant
	failure    error // of the latest refresh
}

func newCluster(c *Client, addresses []string) *cluster {
	x := &cluster{client: c, refreshed: -1 << 62}
	x.routes.Store(noRoutes)
	for _, address := range addresses {
		x.hosts = append(x.hosts, newHost(x, 0, address))
	}
	return x
}

// all returns the hosts that are known.
func (x *cluster) all() []*host {
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.Clone(x.hosts)
}

// host returns the host of an id, and notes an address of it. An address that is new is tried first, unless
// the host is reached by another one now.
func (x *cluster) host(id uint64, address string) *host {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.hostLocked(id, address)
}

func (x *cluster) hostLocked(id uint64, address string) *host {
	for _, h := range x.hosts {
		if h.id != id {
			continue
		}
		h.mu.Lock()
		defer h.mu.Unlock()
		if address != "" && !slices.Contains(h.addresses, address) {
			up := slices.ContainsFunc(h.lines, func(l line) bool { return l.link != nil })
			if up {
				h.addresses = append(h.addresses, address)
			} else {
				h.addresses = slices.Insert(h.addresses, 0, address)
			}
		}
		return h
	}
	for _, h := range x.hosts {
		if h.id == 0 && slices.Contains(h.addresses, address) {
			h.identify(id)
			return h
		}
	}
	h := newHost(x, id)
	if address != "" {
		h.addresses = []string{address}
	}
	x.hosts = append(x.hosts, h)
	return h
}

// meet is told who answered at an address of h. It returns the host that it is.
func (x *cluster) meet(h *host, address string, w *welcome) (*host, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.id == "" {
		x.id = w.cluster
	}
	if w.cluster != x.id {
		return nil, errOtherCluster
	}
	if h.id == w.hostID {
		h.learn(address)
		return h, nil
	}
	if h.id != 0 {
		h.unlearn(address) // another host has taken it over
	}
	for _, other := range x.hosts {
		if other.id == w.hostID {
			other.learn(address)
			x.merge(h, other)
			return other, nil
		}
	}
	if h.id != 0 {
		h = newHost(x, 0)
		x.hosts = append(x.hosts, h)
	}
	h.identify(w.hostID)
	h.learn(address)
	return h, nil
}

// merge makes a host that was not known by its id yet another name of the one that it is.
func (x *cluster) merge(h, into *host) {
	if h.id != 0 {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.gone = into
	x.hosts = slices.DeleteFunc(x.hosts, func(y *host) bool { return y == h })
}

// moved notes what a host said of a shard's leader.
func (x *cluster) moved(m *protocol.Moved, from *link) {
	r := x.routes.Load()
	switch {
	case m.LeaderHostID == 0 || r.shard(m.ShardID) == nil:
		x.refreshSoon(from)
		return
	case m.RoutingVersion > r.version:
		x.refreshSoon(from)
	}
	x.lead(m.ShardID, x.host(m.LeaderHostID, m.LeaderAddress))
}

// lead notes the leader of a shard.
func (x *cluster) lead(shard uint64, leader *host) {
	for {
		r := x.routes.Load()
		s := r.shard(shard)
		if s == nil || s.leader == leader || x.routes.CompareAndSwap(r, r.withLeader(shard, leader)) {
			return
		}
	}
}

// changed is told that a host has another routing.
func (x *cluster) changed(version uint64, from *link) {
	if version > x.routes.Load().version {
		x.refreshSoon(from)
	}
}
