package cluster

import (
	"context"
	"math/rand/v2"

	"github.com/signalbox/signalbox/client/internal/conn"
)

// Target chooses the host for a request. tried is the host of the try before, nil before the first try. A target
// returns nil if any host will do, or no host is known.
type Target func(r *routes, tried *Host) *Host

// AnyHost lets every host answer.
func AnyHost(*routes, *Host) *Host { return nil }

// MetaLeader is for changes of nodes.
func MetaLeader(r *routes, _ *Host) *Host { return r.shard(r.meta).leaderOf() }

// sessionsAtHome is how many sessions a client starts at one host before the client goes on to another.
const sessionsAtHome = 1000

// SessionHome is for new sessions: a host that leads a data shard, the same host for sessionsAtHome sessions, so that
// one ping keeps many alive. Each client begins at a host of its own. After a failure any other leader is chosen: the
// routing may be old, and two hosts in turns would never end at the third.
func (c *Cluster) SessionHome(r *routes, tried *Host) *Host {
	var leaders []*Host
	for i := range r.shards {
		if s := &r.shards[i]; s.id != r.meta && s.leader != nil && s.leader != tried {
			leaders = append(leaders, s.leader)
		}
	}
	if len(leaders) == 0 {
		return nil
	}
	from := c.home + (c.starts.Add(1)-1)/sessionsAtHome
	if tried != nil {
		from = rand.Uint32()
	}
	return leaders[from%uint32(len(leaders))]
}

// LeaderAt is the leader of a slot's shard.
func LeaderAt(slot uint16) Target {
	return func(r *routes, _ *Host) *Host { return r.of(slot).leaderOf() }
}

// ShardLeader is the leader of a shard.
func ShardLeader(id uint64) Target {
	return func(r *routes, _ *Host) *Host { return r.shard(id).leaderOf() }
}

// ReplicaAt is some host that holds a slot's shard, another host from try to try.
func ReplicaAt(slot uint16) Target {
	return func(r *routes, tried *Host) *Host { return r.of(slot).replicaFrom(rand.Uint32(), tried) }
}

// HomeOf is the host of a slot's shard that the client reads from, as long as the host is reachable: the next read
// does not miss what the read before has seen, and requests to one host share system calls. Each client has a home of
// its own, so that the clients spread over all hosts.
func (c *Cluster) HomeOf(slot uint16) Target {
	return func(r *routes, tried *Host) *Host { return r.of(slot).replicaFrom(c.home, tried) }
}

// NearLeader is the leader of a slot's shard, because the leader has the latest changes of the client, or another host
// that holds the shard if the leader did not answer.
func NearLeader(slot uint16) Target {
	return func(r *routes, tried *Host) *Host { return r.of(slot).near(tried) }
}

// NearShardLeader is NearLeader for a shard.
func NearShardLeader(id uint64) Target {
	return func(r *routes, tried *Host) *Host { return r.shard(id).near(tried) }
}

func (s *shardRoute) near(tried *Host) *Host {
	if s != nil && s.leader != nil && s.leader != tried {
		return s.leader
	}
	return s.replicaFrom(rand.Uint32(), tried)
}

// replicaFrom is the first host in a ring that holds the shard, was not tried, and was reachable at the latest try, if
// any.
func (s *shardRoute) replicaFrom(from uint32, tried *Host) *Host {
	if s == nil || len(s.replicas) == 0 {
		return nil
	}
	n := uint32(len(s.replicas))
	for i := range n {
		if h := s.replicas[(from%n+i)%n]; h != tried && !h.unreachable.Load() {
			return h
		}
	}
	return s.replicas[from%n]
}

// Host returns the target's host, nil if the host is not known.
func (c *Cluster) Host(t Target) *Host { return t(c.routes.Load(), nil) }

// Connect returns a connection to the target's host, or to some host if the target has none.
func (c *Cluster) Connect(
	ctx context.Context, haste Haste, t Target, stripe int, tried *Host,
) (*conn.Conn, *Host, error) {
	h := t(c.routes.Load(), tried)
	if h == nil {
		h = c.some(tried)
	}
	to, err := h.connIn(ctx, stripe, haste)
	return to, h, err
}

// some is a random host, with a connection if any host has a connection.
func (c *Cluster) some(tried *Host) *Host {
	var found, connected *Host
	n, m := 0, 0
	for _, h := range c.Hosts() {
		if h == tried {
			continue
		}
		if n++; rand.IntN(n) == 0 {
			found = h
		}
		if h.Up() == nil {
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
	return tried
}
