package client

import (
	"context"
	"errors"
	"math/rand/v2"

	"github.com/signalbox/signalbox/protocol"
)

// refreshSoon asks a host for the routing, in the background.
func (x *cluster) refreshSoon(from *link) {
	x.client.spawn(func() {
		x.mu.Lock()
		x.refreshed = -1 << 62
		x.mu.Unlock()
		_ = x.refresh(x.client.ctx, from, nil) // who needs the routing asks again, and hears of it
	})
}

// refresh asks for the routing: the host of a link, or else any other than the one to avoid. Many that ask
// at the same time share one question.
func (x *cluster) refresh(ctx context.Context, from *link, avoid *host) error {
	x.mu.Lock()
	if x.client.clock.now() < x.refreshed.add(routingGap) {
		defer x.mu.Unlock()
		return x.failure
	}
	busy := x.refreshing
	if busy == nil {
		busy = make(chan struct{})
		if !x.client.spawn(func() { x.question(busy, from, avoid) }) {
			x.mu.Unlock()
			return ErrClosed
		}
		x.refreshing = busy
	}
	x.mu.Unlock()
	select {
	case <-busy:
	case <-ctx.Done():
		return context.Cause(ctx)
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.failure
}

// question is the one question that is under way.
func (x *cluster) question(done chan struct{}, from *link, avoid *host) {
	err := x.ask(x.client.ctx, from, avoid)
	x.mu.Lock()
	x.refreshing, x.refreshed, x.failure = nil, x.client.clock.now(), err
	x.mu.Unlock()
	close(done)
}

// ask asks one host after the other, until one answers.
func (x *cluster) ask(ctx context.Context, from *link, avoid *host) error {
	var errs []error
	if from != nil && !from.isDown() {
		if err := x.askOver(ctx, from); err == nil {
			return nil
		}
	}
	hosts := x.all()
	rand.Shuffle(len(hosts), func(i, j int) { hosts[i], hosts[j] = hosts[j], hosts[i] })
	for _, connected := range []bool{true, false} {
		for _, h := range hosts {
			if h == avoid && len(hosts) > 1 || (h.live() != nil) != connected {
				continue
			}
			l, err := h.link(ctx, 0)
			if err == nil {
				err = x.askOver(ctx, l)
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

func (x *cluster) askOver(ctx context.Context, l *link) error {
	ctx, cancel := context.WithTimeout(ctx, routingPatience)
	defer cancel()
	// The version that is known is not told, because leaders change without a new version.
	return l.roundTrip(ctx, &protocol.Routing{}, func(_ *link, a *protocol.Answer) { x.learn(&a.Routing) })
}

// learn takes an answer about the routing in. One of an older version comes from a host that lags.
func (x *cluster) learn(a *protocol.RoutingAnswer) {
	x.mu.Lock()
	defer x.mu.Unlock()
	old := x.routes.Load()
	if a.Version < old.version || a.Shards.Len() == 0 {
		return
	}
	hosts := make(map[uint64]*host, a.Hosts.Len())
	for h := range a.Hosts.All() {
		if h.State != protocol.HostExpelled {
			hosts[h.ID] = x.hostLocked(h.ID, string(h.Address))
		}
	}
	next := &routes{version: a.Version, meta: a.MetaShardID, slots: new([protocol.Slots]uint16)}
	*next.slots = *noRoutes.slots
	for s := range a.Shards.All() {
		route := shardRoute{id: s.ID, leader: hosts[s.LeaderHostID]}
		for id := range s.ReplicaHostIDs.All() {
			if h := hosts[uint64(id)]; h != nil {
				route.replicas = append(route.replicas, h)
			}
		}
		if route.leader == nil {
			route.leader = old.shard(s.ID).leaderOf()
		}
		next.shards = append(next.shards, route)
	}
	for r := range a.Slots.All() {
		for i := range next.shards {
			if next.shards[i].id != r.ShardID {
				continue
			}
			for slot := r.First; slot <= r.Last && slot < protocol.Slots; slot++ {
				next.slots[slot] = uint16(i)
			}
		}
	}
	x.routes.Store(next)
}
