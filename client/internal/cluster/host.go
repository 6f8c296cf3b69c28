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

// Host is a server process and the client's connections to it.
type Host struct {
	cluster *Cluster

	// id is 0 until a host was met at an address. Writes hold the cluster's lock and the host's lock, reads hold
	// either.
	id uint64
	// unreachable: the latest try to reach the host has failed.
	unreachable atomic.Bool

	mu        sync.Mutex // guards the fields below
	addresses []string   // the last working address comes first
	stripes   []stripe
	mergedTo  *Host // the known host behind this entry
}

func newHost(c *Cluster, id uint64, addresses ...string) *Host {
	return &Host{cluster: c, id: id, addresses: addresses, stripes: make([]stripe, c.config.Connections)}
}

// HostOf returns the host at the other end of a cluster connection.
func HostOf(c *conn.Conn) *Host { return c.Owner().(*Host) }

// ID returns the host id, or 0 if the host has not been reached yet.
func (h *Host) ID() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id
}

// self returns the known host behind this entry, or h.
func (h *Host) self() *Host {
	h.mu.Lock()
	defer h.mu.Unlock()
	return cmp.Or(h.mergedTo, h)
}

// reachable reports whether the latest attempt to reach the host succeeded, or no attempt was made.
func (h *Host) reachable() bool { return !h.unreachable.Load() }

// Address returns the last working address.
func (h *Host) Address() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) == 0 {
		return fmt.Sprintf("%d (unknown address)", h.id)
	}
	return h.addresses[0]
}

// Conn returns a connection to the host and establishes one if necessary. The error is a *failure.Transport, the host's
// refusal, or the context's cause.
func (h *Host) Conn(ctx context.Context, number int) (*conn.Conn, error) {
	return h.connIn(ctx, number, Leisure)
}

// Up returns an established connection, or nil.
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

// ConnectionLost implements conn.Owner.
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

// GoingAway implements conn.Owner: the client reconnects only after the pause that the host requested.
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

// Silent implements conn.Owner. If the host hangs, another host will become leader. A client with no other connection
// asks another host, and learns about the new leader over the new connection.
func (h *Host) Silent(*conn.Conn) {
	c := h.cluster
	for _, other := range c.Hosts() {
		if other != h && other.Up() != nil {
			return
		}
	}
	c.scope.Go(func() { _ = c.refresh(c.scope.Context(), nil, h) }) // on failure, the host is reported silent again
}

// doubt checks a host that has lost a shard's leadership to another host, because the host may hang.
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

// addAddress puts an address first because the host answered there.
func (h *Host) addAddress(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) > 0 && h.addresses[0] == address {
		return
	}
	h.addresses = slices.DeleteFunc(h.addresses, func(a string) bool { return a == address })
	h.addresses = slices.Insert(h.addresses, 0, address)
}

// removeAddress removes an address that now belongs to another host.
func (h *Host) removeAddress(address string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.addresses = slices.DeleteFunc(h.addresses, func(a string) bool { return a == address })
}

// identify sets the host id. The cluster's lock is held.
func (h *Host) identify(id uint64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.id = id
}
