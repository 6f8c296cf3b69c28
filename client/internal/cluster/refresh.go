package cluster

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox/signalbox/client/internal/conn"
	"github.com/signalbox/signalbox/client/internal/scope"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// askTimeout bounds one question for the routing.
	askTimeout = time.Second
	// refreshGap is how long an answer about the routing is believed by callers that ask again.
	refreshGap = 10 * time.Millisecond
	// longAgo is before every refreshGap.
	longAgo = scope.Instant(-1 << 62)
)

// refreshSoon asks a host for the routing, in the background.
func (c *Cluster) refreshSoon(from *conn.Conn) {
	c.scope.Go(func() {
		c.mu.Lock()
		c.refreshed = longAgo
		c.mu.Unlock()
		_ = c.refresh(c.scope.Context(), from, nil) // a request that needs the routing asks again, and gets the error
	})
}

// Refresh asks any host for the routing.
func (c *Cluster) Refresh(ctx context.Context) error { return c.refresh(ctx, nil, nil) }

// refresh asks for the routing: the host of a connection, or else some host other than avoid. Callers that ask
// together share one question.
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
			return scope.ErrClosed
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

// ask asks one host after the other, until a host answers.
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

// learn makes an answer about the routing the present routing. An answer of an older version comes from a host that
// lags.
func (c *Cluster) learn(a *protocol.RoutingAnswer) {
	c.mu.Lock()
	defer c.mu.Unlock()
	old := c.routes.Load()
	if a.Version < old.version || a.Shards.Len() == 0 {
		return
	}
	hosts := make(map[uint64]*Host, a.Hosts.Len())
	c.expelled = make(map[uint64]bool)
	for h := range a.Hosts.All() {
		if h.State == protocol.HostExpelled {
			c.expelled[h.ID] = true
		} else {
			hosts[h.ID] = c.host(h.ID, string(h.Address))
		}
	}
	c.forgetExpelled()
	next := &routes{version: a.Version, meta: a.MetaShardID, slots: new([protocol.Slots]uint16),
		moved: maps.Clone(old.moved)}
	*next.slots = *noRoutes.slots
	for s := range a.Shards.All() {
		route := shardRoute{id: s.ID, leader: hosts[s.LeaderHostID]}
		for id := range s.ReplicaHostIDs.All() {
			if h := hosts[uint64(id)]; h != nil {
				route.replicas = append(route.replicas, h)
			}
		}
		if last := old.shard(s.ID).leaderOf(); route.leader == nil && slices.Contains(c.hosts, last) {
			route.leader = last
		}
		next.shards = append(next.shards, route)
	}
	for r := range a.Slots.All() {
		at := slices.IndexFunc(next.shards, func(s shardRoute) bool { return s.id == r.ShardID })
		for slot := r.First; slot <= r.Last && slot < protocol.Slots; slot++ {
			if at >= 0 {
				next.slots[slot] = uint16(at)
			}
			if r.Generation != 0 {
				next.place(uint16(slot), place{r.ShardID, r.Generation})
			}
		}
	}
	c.routes.Store(next)
}

// forgetExpelled drops expelled hosts without a connection. An address given to New stays, since another host may
// answer at the address. The lock is held.
func (c *Cluster) forgetExpelled() {
	var given []*Host
	c.hosts = slices.DeleteFunc(c.hosts, func(h *Host) bool {
		gone := c.expelled[h.id] && h.Up() == nil
		for _, address := range c.given {
			if gone && h.Address() == address {
				given = append(given, newHost(c, 0, address))
			}
		}
		return gone
	})
	c.hosts = append(c.hosts, given...)
}
