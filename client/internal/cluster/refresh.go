package cluster

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// askTimeout is the timeout for one routing request.
	askTimeout = time.Second
	// refreshGap is the time during which callers reuse the latest routing response.
	refreshGap = 10 * time.Millisecond
	// longAgo is before every refreshGap.
	longAgo = lifecycle.Instant(-1 << 62)
)

// refreshSoon asks a host for the routing, in the background.
func (c *Cluster) refreshSoon(from *conn.Conn) {
	c.scope.Go(func() {
		c.mu.Lock()
		c.refreshed = longAgo
		c.mu.Unlock()
		_ = c.refresh(c.scope.Context(), from, nil) // a request that needs the routing asks again and gets the error
	})
}

// Refresh asks any host for the routing.
func (c *Cluster) Refresh(ctx context.Context) error { return c.refresh(ctx, nil, nil) }

// refresh asks for the routing: from the host of a connection, or else from some host other than avoid. Concurrent
// callers share one request.
func (c *Cluster) refresh(ctx context.Context, from *conn.Conn, avoid *Host) error {
	c.mu.Lock()
	if c.scope.Now() < c.refreshed.Add(refreshGap) {
		defer c.mu.Unlock()
		return c.failure
	}
	busy := c.refreshing
	if busy == nil {
		busy = make(chan struct{})
		started := c.scope.Go(func() {
			err := c.ask(c.scope.Context(), from, avoid)
			c.mu.Lock()
			c.refreshing, c.refreshed, c.failure = nil, c.scope.Now(), err
			c.mu.Unlock()
			close(busy)
		})
		if !started {
			c.mu.Unlock()
			return lifecycle.ErrClosed
		}
		c.refreshing = busy
	}
	c.mu.Unlock()
	select {
	case <-busy:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.failure
}

// ask asks one host after another until a host answers.
func (c *Cluster) ask(ctx context.Context, from *conn.Conn, avoid *Host) error {
	var errs []error
	if from != nil && !from.IsDown() {
		if err := c.askOver(ctx, from); err == nil {
			return nil
		}
	}
	hosts := c.Hosts()
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	for _, connected := range []bool{true, false} {
		for _, h := range hosts {
			if h == avoid && len(hosts) > 1 || (h.Up() != nil) != connected {
				continue
			}
			to, err := h.Conn(ctx, 0)
			if err == nil {
				err = c.askOver(ctx, to)
			}
			if err == nil {
				return nil
			}
			errs = append(errs, err)
			if context.Cause(ctx) != nil {
				return errors.Join(errs...)
			}
		}
	}
	return errors.Join(errs...)
}

func (c *Cluster) askOver(ctx context.Context, to *conn.Conn) error {
	ctx, cancel := context.WithTimeout(ctx, askTimeout)
	defer cancel()
	// The known version is not sent, because leaders change without a new version.
	return to.RoundTrip(ctx, &protocol.Routing{}, func(a *protocol.Answer) { c.learn(&a.Routing) })
}
