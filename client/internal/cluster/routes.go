package cluster

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// routes is the routing: the place of every shard. The routing is immutable, and replaced by a newer routing.
type routes struct {
	version uint64
	meta    uint64 // id of the meta shard
	shards  []shardRoute
	slots   *[protocol.Slots]uint16 // the place in shards of each slot's shard
	// moved has the slots of a generation above 0, by MOVED or by the table: the higher generation wins. A slot in
	// moved is not looked up in slots, because the table may be old.
	moved map[uint16]place
}

// place is the shard of a moved slot, and the slot's generation in that shard. Each move raises the generation.
type place struct{ shard, generation uint64 }

// shardRoute is the hosts of one shard.
type shardRoute struct {
	id       uint64
	leader   *Host // nil if unknown
	replicas []*Host
}

// noShard stands in slots for a slot without a shard in the routing.
const noShard = 1<<16 - 1

var noRoutes = func() *routes {
	r := &routes{slots: new([protocol.Slots]uint16)}
	for i := range r.slots {
		r.slots[i] = noShard
	}
	return r
}()

// of returns the shard of a slot, nil if unknown.
func (r *routes) of(slot uint16) *shardRoute {
	if p := r.moved[slot]; p.generation != 0 {
		return r.shard(p.shard)
	}
	i := r.slots[slot%protocol.Slots]
	if int(i) >= len(r.shards) {
		return nil
	}
	return &r.shards[i]
}

// shard returns the shard of an id, nil if unknown.
func (r *routes) shard(id uint64) *shardRoute {
	for i := range r.shards {
		if r.shards[i].id == id {
			return &r.shards[i]
		}
	}
	return nil
}

// withLeader returns routes in which a shard has another leader.
func (r *routes) withLeader(shard uint64, leader *Host) *routes {
	next := *r
	next.shards = slices.Clone(r.shards)
	if s := next.shard(shard); s != nil {
		s.leader = leader
	}
	return &next
}

// place notes the place of a slot in routes that are not shared yet. The result is false, and the place is dropped, if
// a higher generation is known.
func (r *routes) place(slot uint16, p place) bool {
	known := r.moved[slot].generation
	if p.generation > known {
		if r.moved == nil {
			r.moved = make(map[uint16]place)
		}
		r.moved[slot] = p
	}
	return p.generation >= known
}

// Name puts the known generation of the slot into a read. A host with a lower generation then refuses the read, instead
// of answering with the state before the move. Changes name no generation, because the log decides about changes.
func (c *Cluster) Name(m protocol.RequestMessage) {
	moved := c.routes.Load().moved
	if len(moved) == 0 {
		return
	}
	switch m := m.(type) {
	case *protocol.SemaphoreDescribe:
		m.Generation = moved[protocol.SemaphoreSlot(m.NodeID, m.Name)].generation
	case *protocol.RolloutDescribe:
		m.Generation = moved[protocol.SemaphoreSlot(m.NodeID, m.Name)].generation
	case *protocol.ProcessDescribe:
		m.Generation = moved[protocol.SemaphoreSlot(m.NodeID, m.Name)].generation
	case *protocol.Watch:
		m.Generation = moved[protocol.SemaphoreSlot(m.NodeID, m.Name)].generation
	}
}

// leaderOf returns the leader of a shard, nil if unknown.
func (s *shardRoute) leaderOf() *Host {
	if s == nil {
		return nil
	}
	return s.leader
}

// DataShards returns the ids of all shards but the meta shard.
func (c *Cluster) DataShards() []uint64 {
	r := c.routes.Load()
	var ids []uint64
	for i := range r.shards {
		if r.shards[i].id != r.meta {
			ids = append(ids, r.shards[i].id)
		}
	}
	return ids
}

// ShardAt returns the id of a slot's shard; ok is false if the shard is not known.
func (c *Cluster) ShardAt(slot uint16) (id uint64, ok bool) {
	if s := c.routes.Load().of(slot); s != nil {
		return s.id, true
	}
	return 0, false
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
		switch last := old.shard(s.ID).leaderOf(); {
		case last == nil || last == route.leader:
		case route.leader != nil:
			last.doubt()
		case slices.Contains(c.hosts, last):
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

// Target chooses the host for the next try of an operation. A target returns nil if any host will do, or no host is
// known.
type Target func(r *routes, tried Tried) *Host

// AnyHost lets every host answer.
func AnyHost(*routes, Tried) *Host { return nil }

// MetaLeader is for changes of nodes.
func MetaLeader(r *routes, _ Tried) *Host { return r.shard(r.meta).leaderOf() }

// sessionsAtHome is how many sessions a client starts at one host before the client goes on to another.
const sessionsAtHome = 1000

// SessionHome is for new sessions: a host that leads a data shard, the same host for sessionsAtHome sessions, so that
// one ping keeps many alive. Each client begins at a host of its own. After a failure any other leader is chosen,
// because the routing may be old.
func (c *Cluster) SessionHome(r *routes, tried Tried) *Host {
	var leaders []*Host
	for i := range r.shards {
		if s := &r.shards[i]; s.id != r.meta && s.leader != nil && s.leader != tried.Latest() {
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
	first := from % uint32(len(leaders))
	return tried.next(nil, leaders[first:], leaders[:first])
}

// LeaderAt is the leader of a slot's shard.
func LeaderAt(slot uint16) Target {
	return func(r *routes, _ Tried) *Host { return r.of(slot).leaderOf() }
}

// ShardLeader is the leader of a shard.
func ShardLeader(id uint64) Target {
	return func(r *routes, _ Tried) *Host { return r.shard(id).leaderOf() }
}

// ReplicaAt is some host that holds a slot's shard, another host from try to try.
func ReplicaAt(slot uint16) Target {
	return func(r *routes, tried Tried) *Host { return r.of(slot).replicaFrom(rand.Uint32(), tried) }
}

// HomeOf is the host of a slot's shard that the client reads from, as long as the host is reachable: the next read
// does not miss what the read before has seen, and requests to one host share system calls. Each client has a home of
// its own, so that the clients spread over all hosts.
func (c *Cluster) HomeOf(slot uint16) Target {
	return func(r *routes, tried Tried) *Host { return r.of(slot).replicaFrom(c.home, tried) }
}

// NearLeader is the leader of a slot's shard, because the leader has the latest changes of the client, or another host
// that holds the shard if the leader did not answer.
func NearLeader(slot uint16) Target {
	return func(r *routes, tried Tried) *Host { return r.of(slot).near(tried) }
}

// NearShardLeader is NearLeader for a shard.
func NearShardLeader(id uint64) Target {
	return func(r *routes, tried Tried) *Host { return r.shard(id).near(tried) }
}

func (s *shardRoute) near(tried Tried) *Host {
	leader, replica := s.leaderOf(), s.replicaFrom(rand.Uint32(), tried)
	switch {
	case leader == nil || leader == tried.Latest():
		return replica
	case !tried.has(leader) || tried.has(replica): // another leader may have been elected since the tries
		return leader
	}
	return replica
}

// replicaFrom is the next host in a ring that holds the shard: preferably one that was reachable when the client last
// connected to it.
func (s *shardRoute) replicaFrom(from uint32, tried Tried) *Host {
	if s == nil || len(s.replicas) == 0 {
		return nil
	}
	first := from % uint32(len(s.replicas))
	return tried.next((*Host).reachable, s.replicas[first:], s.replicas[:first])
}

// Host returns the target's host, nil if the host is not known.
func (c *Cluster) Host(t Target) *Host { return t(c.routes.Load(), nil) }
