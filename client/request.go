package client

import (
	"context"
	"math/rand/v2"

	"github.com/signalbox/signalbox/protocol"
)

// target chooses the host for a request. tried is the host of the try before, nil before the first; it
// returns nil where any host will do, or none is known.
type target func(r *routes, tried *host) *host

// anyHost lets every host answer.
func anyHost(*routes, *host) *host { return nil }

// metaLeader is for what changes nodes.
func metaLeader(r *routes, _ *host) *host { return r.shard(r.meta).leaderOf() }

// leaderAt is the leader of a slot's shard.
func leaderAt(slot uint16) target {
	return func(r *routes, _ *host) *host { return r.of(slot).leaderOf() }
}

// shardLeader is the leader of a shard.
func shardLeader(id uint64) target {
	return func(r *routes, _ *host) *host { return r.shard(id).leaderOf() }
}

// replicaAt is some host that holds a slot's shard, another one from try to try.
func replicaAt(slot uint16) target {
	return func(r *routes, tried *host) *host { return r.of(slot).replica(tried) }
}

// homeOf is the host that holds a slot's shard and that the client keeps to for its reads, as long as it is well: what
// it has read there it does not miss in its next read, and requests to one host share system calls. Each client
// has a home of its own, so that many spread over all hosts.
func (c *Client) homeOf(slot uint16) target {
	return func(r *routes, tried *host) *host { return r.of(slot).replicaFrom(c.home, tried) }
}

// nearLeader is the leader of a slot's shard, which has what its clients changed a moment ago, and another
// host that holds the shard where the leader did not answer.
func nearLeader(slot uint16) target {
	return func(r *routes, tried *host) *host { return r.of(slot).near(tried) }
}

// nearShardLeader is nearLeader for a shard.
func nearShardLeader(id uint64) target {
	return func(r *routes, tried *host) *host { return r.shard(id).near(tried) }
}

func (s *shardRoute) near(tried *host) *host {
	if s != nil && s.leader != nil && s.leader != tried {
		return s.leader
	}
	return s.replica(tried)
}

// dataLeader is some host that leads a data shard.
func dataLeader(r *routes, tried *host) *host {
	var found *host
	n := 0
	for i := range r.shards {
		s := &r.shards[i]
		if s.id == r.meta || s.leader == nil || s.leader == tried {
			continue
		}
		if n++; rand.IntN(n) == 0 {
			found = s.leader
		}
	}
	return found
}

// replica is a random host that holds the shard: other than one, and one that can be reached as far as the
// client knows, if there is any.
func (s *shardRoute) replica(but *host) *host { return s.replicaFrom(rand.Uint32(), but) }

// replicaFrom is replica with a preference in place of chance.
func (s *shardRoute) replicaFrom(from uint32, but *host) *host {
	if s == nil || len(s.replicas) == 0 {
		return nil
	}
	n := uint32(len(s.replicas))
	for i := range n {
		if h := s.replicas[(from%n+i)%n]; h != but && !h.ailing.Load() {
			return h
		}
	}
	return s.replicas[from%n]
}

// pick returns a link to the target's host.
func (c *Client) pick(ctx context.Context, t target, tried *host) (*link, *host, error) {
	h := t(c.cluster.routes.Load(), tried)
	if h == nil {
		h = c.cluster.some(tried)
	}
	l, err := h.link(ctx, int(c.stripe.Add(1)))
	return l, h, err
}

// some is a random host, one that is connected if there is any.
func (x *cluster) some(but *host) *host {
	var found, connected *host
	n, m := 0, 0
	for _, h := range x.all() {
		if h == but {
			continue
		}
		if n++; rand.IntN(n) == 0 {
			found = h
		}
		if h.live() == nil {
			continue
		}
		if m++; rand.IntN(m) == 0 {
			connected = h
		}
	}
	switch {
	case connected != nil:
		return connected
	case found != nil:
		return found
	}
	return but
}

// do carries a request out that may be sent again at will: until a host answers for good, or the context
// ends. read copies what is wanted out of the answer, on the goroutine that reads the connection.
func (c *Client) do(ctx context.Context, t target, m protocol.RequestMessage, read func(from *link, a *protocol.Answer)) error {
	_, err := c.doubtful(ctx, t, m, read)
	return err
}

// doubtful is do for requests whose answer depends on whether an earlier try was carried out: doubt tells
// that one may have been.
func (c *Client) doubtful(ctx context.Context, t target, m protocol.RequestMessage, read func(from *link, a *protocol.Answer)) (doubt bool, err error) {
	if err := c.usable(); err != nil {
		return false, err
	}
	var r retries
	var tried *host
	for {
		l, h, err := c.pick(ctx, t, tried)
		if err == nil {
			err = l.roundTrip(ctx, m, read)
			if isTransport(err) || statusOf(err) == protocol.StatusUnavailable {
				doubt = true
			}
		}
		if err == nil {
			return doubt, nil
		}
		tried = h
		if err := c.redirect(ctx, err, l, h); err != nil {
			return doubt, err
		}
		if err := r.again(ctx, c.ctx, err); err != nil {
			return doubt, err
		}
	}
}

// redirect learns from a failure where to go instead. It returns what ends every request.
func (c *Client) redirect(ctx context.Context, err error, l *link, h *host) error {
	if cause := context.Cause(c.ctx); cause != nil {
		return cause
	}
	switch statusOf(err) {
	case protocol.StatusMoved:
		c.cluster.moved(movedTo(err), l)
	case protocol.StatusUnavailable:
		_ = c.cluster.refresh(ctx, nil, nil) // the next try tells whether that has helped
	default:
		if isTransport(err) {
			_ = c.cluster.refresh(ctx, nil, h)
		}
	}
	return nil
}
