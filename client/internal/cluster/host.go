package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// Host is a server process as the client knows it, and the connections to it.
type Host struct {
	cluster *Cluster

	// id is 0 until a host was met at an address. Writes hold the cluster's lock and the host's lock, reads hold
	// either.
	id uint64
	// unreachable: the latest try to reach the host has failed.
	unreachable atomic.Bool

	mu        sync.Mutex // guards the fields below
	addresses []string   // the address that worked last is first
	stripes   []stripe
	mergedTo  *Host // the host that this host turned out to be
}

func newHost(c *Cluster, id uint64, addresses ...string) *Host {
	return &Host{cluster: c, id: id, addresses: addresses, stripes: make([]stripe, c.config.Connections)}
}

// HostOf returns the host at the other end of a connection of a cluster.
func HostOf(c *conn.Conn) *Host { return c.Owner().(*Host) }

// ID returns the id of the host, 0 before the host was met.
func (h *Host) ID() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id
}

// self returns the host that the host turned out to be, or the host.
func (h *Host) self() *Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.mergedTo, h)
}

// reachable reports whether the latest try to reach the host, if any, has succeeded.
func (h *Host) reachable() bool { return !h.unreachable.Load() }

// Address returns the address that worked last.
func (h *Host) Address() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) == 0 {
		return fmt.Sprintf("%d (unknown address)", h.id)
	}
	return h.addresses[0]
}

// Conn returns a connection to the host, and makes the connection if the host has none. The error is a
// *failure.Transport, or the host's refusal of the connection, or the context's cause.
func (h *Host) Conn(ctx context.Context, number int) (*conn.Conn, error) {
	return h.connIn(ctx, number, Leisure)
}

// Up returns a connection that is up, nil for none.
func (h *Host) Up() *conn.Conn {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.up()
}

// up is Up with the lock held.
func (h *Host) up() *conn.Conn {
	for i := range h.stripes {
		if c := h.stripes[i].conn; c != nil {
			return c
		}
	}
	return nil
}

// ConnectionLost implements conn.Owner: the connection is out of use.
func (h *Host) ConnectionLost(lost *conn.Conn, why error) {
	h.mu.Lock()
	known := false
	for i := range h.stripes {
		if h.stripes[i].conn == lost {
			h.stripes[i].conn, known = nil, true
		}
	}
	id := h.id
	h.mu.Unlock()
	if known {
		h.cluster.config.ConnectionChanged(Down, id, lost.Address(), why)
		h.cluster.reconnect()
	}
}

// GoingAway implements conn.Owner: the client does not come back to the host before the pause that the host asks for.
func (h *Host) GoingAway(from *conn.Conn, why error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.stripes {
		if s := &h.stripes[i]; s.conn == from {
			s.err = &failure.Transport{Address: from.Address(), Err: why}
			s.retryAt = h.cluster.scope.Now().Add(max(retry.Requests.Pause(1), failure.Wait(why)))
		}
	}
}

// Silent implements conn.Owner. If the host hangs, another host will lead: a client that is connected to no other host
// asks one, and hears of the leader over the connection made for that.
func (h *Host) Silent(*conn.Conn) {
	c := h.cluster
	for _, other := range c.Hosts() {
		if other != h && other.Up() != nil {
			return
		}
	}
	c.scope.Go(func() { _ = c.refresh(c.scope.Context(), nil, h) }) // if it fails, the host is reported silent again
}

// doubt is for a host that led a shard which another host leads now. The host may hang, and is asked.
func (h *Host) doubt() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for i := range h.stripes {
		if c := h.stripes[i].conn; c != nil {
			c.Doubt()
		}
	}
}

// TokenExpiring implements conn.Owner.
func (h *Host) TokenExpiring(from *conn.Conn, token string, left time.Duration) {
	h.cluster.config.TokenExpiring(from.Welcome().HostID, from.Address(), token, left)
}

// RoutingChanged implements conn.Owner.
func (h *Host) RoutingChanged(from *conn.Conn, m *protocol.RoutingChanged) {
	if m.LeaderHostID != 0 {
		h.cluster.led(m, from)
	}
	if m.Version > h.cluster.routes.Load().version {
		h.cluster.refreshSoon(from)
	}
}

// addAddress puts an address in front of the others, because the host answered there.
func (h *Host) addAddress(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) > 0 && h.addresses[0] == address {
		return
	}
	h.addresses = slices.DeleteFunc(h.addresses, func(a string) bool { return a == address })
	h.addresses = slices.Insert(h.addresses, 0, address)
}

// removeAddress forgets an address at which another host answered.
func (h *Host) removeAddress(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addresses = slices.DeleteFunc(h.addresses, func(a string) bool { return a == address })
}

// identify sets the id of the host. The cluster's lock is held.
func (h *Host) identify(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id = id
}
