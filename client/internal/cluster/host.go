package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/client/internal/scope"
	"github.com/signalbox/signalbox/protocol"
)

// dialWait is how long a request waits for a connection that is being made before it tries another host. The making
// goes on.
const dialWait = time.Second

// errDialWait: there is no connection yet, and one is still being made.
var errDialWait = fmt.Errorf("no connection within %v", dialWait)

// Host is a server process as the client knows it, and the connections to it.
type Host struct {
	cluster *Cluster

	// id is 0 until a host was met at one of the addresses. It is written under the cluster's lock and
	// this host's, and read under either.
	id uint64
	// unreachable: the latest try to reach the host has failed.
	unreachable atomic.Bool

	mu        sync.Mutex // guards what follows
	addresses []string   // the one that worked last is first
	stripes   []stripe
	mergedTo  *Host // the host that this one turned out to be
}

// stripe is one of the connections to a host. Only one goroutine at a time makes one.
type stripe struct {
	conn     *conn.Conn
	dialing  *dialing
	failures int
	retryAt  scope.Instant // it is not dialled before
	err      error         // of the latest failure
}

// dialing is a connection in the making.
type dialing struct {
	done chan struct{}
	conn *conn.Conn
	err  error
}

func newHost(c *Cluster, id uint64, addresses ...string) *Host {
	return &Host{cluster: c, id: id, addresses: addresses, stripes: make([]stripe, c.config.Connections)}
}

// HostOf returns the host that a connection of a cluster is to.
func HostOf(c *conn.Conn) *Host { return c.Owner().(*Host) }

// ID returns the id of the host, 0 where it was not met.
func (h *Host) ID() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.id
}

// Address returns the address that worked last.
func (h *Host) Address() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.addresses) == 0 {
		return fmt.Sprintf("%d, whose address is not known,", h.id)
	}
	return h.addresses[0]
}

// Conn returns a connection to the host, and makes one where there is none. The error is a *failure.Transport, or
// what the host refused the connection with, or the context's cause.
func (h *Host) Conn(ctx context.Context, number int) (*conn.Conn, error) {
	h.mu.Lock()
	if h.mergedTo != nil {
		other := h.mergedTo
		h.mu.Unlock()
		return other.Conn(ctx, number)
	}
	s := &h.stripes[number%len(h.stripes)]
	if s.conn != nil {
		defer h.mu.Unlock()
		return s.conn, nil
	}
	d := s.dialing
	if d == nil {
		if h.cluster.scope.Now() < s.retryAt {
			defer h.mu.Unlock()
			return nil, s.err
		}
		d = &dialing{done: make(chan struct{})}
		s.dialing = d
		addresses := slices.Clone(h.addresses)
		if !h.cluster.scope.Go(func() { h.dial(d, number, addresses) }) {
			s.dialing = nil
			h.mu.Unlock()
			return nil, scope.ErrClosed
		}
	}
	h.mu.Unlock()
	wait := time.NewTimer(dialWait)
	defer wait.Stop()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-wait.C:
		return nil, &failure.Transport{Address: h.Address(), Err: errDialWait}
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// dial makes a connection, by one address after the other.
func (h *Host) dial(d *dialing, number int, addresses []string) {
	c := h.cluster
	defer close(d.done)
	d.err = &failure.Transport{Address: h.Address(), Err: errors.New("it cannot be reached")}
	for i, address := range addresses {
		made, err := c.dialer.Dial(c.scope.Context(), address)
		if err != nil {
			if i == 0 {
				d.err = &failure.Transport{Address: address, Err: err}
			}
			if s := failure.Status(err); s != protocol.StatusSuccess && s.Retry() == protocol.RetryNever {
				d.err = fmt.Errorf("host %s: %w", address, err)
			}
			continue
		}
		met, err := c.meet(h, address, made.Welcome())
		if err != nil {
			made.Discard()
			d.err = &failure.Transport{Address: address, Err: err}
			continue
		}
		d.conn, d.err = met.use(made, number), nil
		break
	}
	h.mu.Lock()
	s := &h.stripes[number%len(h.stripes)]
	s.dialing = nil
	h.unreachable.Store(d.err != nil)
	id := h.id
	if d.err != nil {
		s.err = d.err
		s.retryAt = c.scope.Now().Add(retry.Requests.Pause(s.failures))
		s.failures++
	}
	h.mu.Unlock()
	if d.err != nil {
		c.config.ConnectionChanged(Failed, id, h.Address(), d.err)
	}
}

// use puts a connection to use and returns the one that is to be used: another one was there before where one host is
// met at two addresses.
func (h *Host) use(made *conn.Conn, number int) *conn.Conn {
	h.mu.Lock()
	s := &h.stripes[number%len(h.stripes)]
	if s.conn != nil {
		defer h.mu.Unlock()
		made.Discard()
		return s.conn
	}
	s.conn, s.err, s.failures, s.retryAt = made, nil, 0, 0
	h.unreachable.Store(false)
	running := made.Run(h) // before any other goroutine can get hold of it
	h.mu.Unlock()
	h.cluster.config.ConnectionChanged(Up, made.Welcome().HostID, made.Address(), nil)
	if !running {
		made.Fail(scope.ErrClosed)
	}
	return made
}

// Up returns a connection that is up, nil where there is none.
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

// GoingAway implements conn.Owner: the client does not come back to the host before it may.
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

// addAddress puts an address in front of the others, because the host answered at it.
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
