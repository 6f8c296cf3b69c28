package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/retry"
	"github.com/signalbox/signalbox/protocol"
)

// dialWait is how long a request waits for a connection in the making before the request tries another host. The
// making goes on.
const dialWait = time.Second

// errDialWait means that a connection is still being established.
var errDialWait = errors.New("not connected yet")

// stripe is a numbered connection to a host. All callers that need the connection wait for the dialing goroutine. If
// the host does not accept, a second attempt starts in parallel, because after lost packets the system retries only
// after pauses that double.
type stripe struct {
	conn     *conn.Conn
	dialing  *dialing
	failures int
	failedAt lifecycle.Instant // from the latest failure
	retryAt  lifecycle.Instant // no dial before
	err      error             // from the latest failure
}

// dialing is a connection in the making.
type dialing struct {
	began lifecycle.Instant
	open  atomic.Bool // the host has taken the connection, and has not said welcome
	done  chan struct{}
	conn  *conn.Conn
	err   error
}

// Haste is how urgently a connection is needed.
type Haste struct {
	// Patience is how long to wait at the most: for a connection in the making, and for a host that could not be
	// reached before the host is dialled again.
	Patience time.Duration
	// Connected, if set, is closed once there is a connection to any host, which ends the wait.
	Connected <-chan struct{}
}

// Leisure is the haste for normal requests. Only requests that are lost without a connection use more haste.
var Leisure = Haste{Patience: dialWait}

// Connect returns a connection to the target's host, or to any host if the target has none.
func (c *Cluster) Connect(
	ctx context.Context, haste Haste, t Target, stripe int, tried Tried,
) (*conn.Conn, *Host, error) {
	h := t(c.routes.Load(), tried)
	if h == nil {
		h = c.some(tried)
	}
	to, err := h.connIn(ctx, stripe, haste)
	return to, h, err
}

// some returns the next host in random order, preferably a connected host.
func (c *Cluster) some(tried Tried) *Host {
	hosts := c.Hosts()
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	return tried.next(func(h *Host) bool { return h.Up() != nil }, hosts)
}

// connIn is Conn for a caller in haste.
func (h *Host) connIn(ctx context.Context, number int, haste Haste) (*conn.Conn, error) {
	h.mu.Lock()
	if h.mergedTo != nil {
		other := h.mergedTo
		h.mu.Unlock()
		return other.connIn(ctx, number, haste)
	}
	s := &h.stripes[number%len(h.stripes)]
	if s.conn != nil {
		defer h.mu.Unlock()
		return s.conn, nil
	}
	d, now := s.dialing, h.cluster.scope.Now()
	if d == nil && !s.mayDial(now, haste.Patience) {
		defer h.mu.Unlock()
		return nil, s.err
	}
	if d == nil || !d.open.Load() && now >= d.began.Add(haste.Patience) {
		d = &dialing{began: now, done: make(chan struct{})}
		addresses := slices.Clone(h.addresses)
		if !h.cluster.scope.Go(func() { h.dial(d, number, addresses) }) {
			h.mu.Unlock()
			return nil, lifecycle.ErrClosed
		}
		s.dialing = d
	}
	h.mu.Unlock()
	wait := time.NewTimer(min(haste.Patience, dialWait))
	defer wait.Stop()
	select {
	case <-d.done:
		return d.conn, d.err
	case <-haste.Connected:
	case <-wait.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if to := h.Up(); to != nil {
		return to, nil // another connection was established meanwhile
	}
	return nil, &failure.Transport{Address: h.Address(), Err: errDialWait}
}

// mayDial reports whether the host may be dialled again. A host that goes away may ask for a pause, and every caller
// keeps to the pause. The lock is held.
func (s *stripe) mayDial(now lifecycle.Instant, patience time.Duration) bool {
	return now >= s.retryAt || s.failures > 0 && now >= s.failedAt.Add(patience)
}

// dial establishes a connection, trying one address after another.
func (h *Host) dial(d *dialing, number int, addresses []string) {
	c := h.cluster
	d.err = &failure.Transport{Address: h.Address(), Err: errors.New("unreachable")}
	for i, address := range addresses {
		d.open.Store(false)
		made, err := c.dialer.Dial(c.scope.Context(), address, func() { d.open.Store(true) })
		if err != nil {
			if i == 0 {
				d.err = &failure.Transport{Address: address, Err: err}
			}
			if s := failure.Status(err); s != protocol.StatusSuccess && s.Retry() == protocol.RetryNever {
				d.err = &failure.Entry{Address: address, Err: err}
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
	id, failed := h.dialled(d, number)
	close(d.done)
	switch {
	case d.err == nil:
		c.connections.report()
	case failed:
		c.config.ConnectionChanged(Failed, id, h.Address(), d.err)
	}
}

// dialled records the outcome of a dial. failed means that the stripe has neither a connection nor another dial in
// progress.
func (h *Host) dialled(d *dialing, number int) (id uint64, failed bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	s := &h.stripes[number%len(h.stripes)]
	if s.dialing != d {
		return h.id, false
	}
	s.dialing = nil
	if failed = d.err != nil && s.conn == nil; failed {
		now := h.cluster.scope.Now()
		s.err, s.failedAt, s.retryAt = d.err, now, now.Add(retry.Requests.Pause(s.failures))
		s.failures++
	}
	h.unreachable.Store(failed)
	return h.id, failed
}

// use puts a connection to use and returns the connection to be used: an earlier connection if one host was met at two
// addresses.
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
	running := made.Run(h) // before another goroutine can use the connection
	h.mu.Unlock()
	h.cluster.config.ConnectionChanged(Up, made.Welcome().HostID, made.Address(), nil)
	if !running {
		made.Fail(lifecycle.ErrClosed)
	}
	return made
}
