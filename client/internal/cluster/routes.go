package cluster

import (
	"maps"
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// routes is the routing table with the location of every shard. It is immutable and replaced by newer tables.
type routes struct {
	version uint64
	meta    uint64 // meta shard id
	shards  []shardRoute
	slots   *[protocol.Slots]uint16 // index into shards for each slot
	// moved has the slots with a generation above 0, from MOVED answers or the routing table: the higher generation
	// wins. Slots in moved override slots, because the table may be old.
	moved map[uint16]place
}

// place is a moved slot's shard and the slot's generation there. Each move increments the generation.
type place struct{ shard, generation uint64 }

// shardRoute lists one shard's hosts.
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

// of returns a slot's shard, or nil if unknown.
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

// shard returns the shard with the given id, or nil if unknown.
func (r *routes) shard(id uint64) *shardRoute {
	for i := range r.shards {
		if r.shards[i].id == id {
			return &r.shards[i]
		}
	}
	return nil
}

// withLeader returns routes with a new leader for a shard. If the shard was unknown, the leader is its only host until
// the client has a newer routing.
func (r *routes) withLeader(shard uint64, leader *Host) *routes {
	next := *r
	next.shards = slices.Clone(r.shards)
	if s := next.shard(shard); s != nil {
		s.leader = leader
	} else {
		next.shards = append(next.shards, shardRoute{id: shard, leader: leader, replicas: []*Host{leader}})
	}
	return &next
}

// place records a slot's location in routes that are not shared yet, unless a higher generation is known.
func (r *routes) place(slot uint16, p place) {
	if p.generation <= r.moved[slot].generation {
		return
	}
	if r.moved == nil {
		r.moved = make(map[uint16]place)
	}
	r.moved[slot] = p
}

// Name adds the slot's known generation to a read. A host with a lower generation then rejects the read instead of
// returning the state before the move. Changes do not carry a generation, because the log decides about changes.
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
	case protocol.ListMessage:
		for r := range m.Listed().Slots.All() {
			m.Listed().Generation = moved[uint16(r.First)].generation
			break
		}
	}
}

// leaderOf returns a shard's leader, or nil if unknown.
func (s *shardRoute) leaderOf() *Host {
	if s == nil {
		return nil
	}
	return s.leader
}

// DataShards returns all shard ids except the meta shard's.
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

// ShardAt returns the shard id for a slot, or 0 if unknown: the meta shard has no slots.
func (c *Cluster) ShardAt(slot uint16) uint64 {
	if s := c.routes.Load().of(slot); s != nil {
		return s.id
	}
	return 0
}

// learn installs a routing response as the current routing. A response with an older version comes from a lagging host.
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

// Target chooses the host for an operation's next attempt. A target returns nil if any host will do or no host is
// known.
type Target func(r *routes, tried Tried) *Host

// AnyHost lets every host answer.
func AnyHost(*routes, Tried) *Host { return nil }

// MetaLeader is the target for node changes.
func MetaLeader(r *routes, _ Tried) *Host { return r.shard(r.meta).leaderOf() }

// sessionsAtHome is the number of sessions that a client starts at one host before moving to the next host.
const sessionsAtHome = 1000

// SessionHome is the target for new sessions: a host that leads a data shard. The client uses the same host for
// sessionsAtHome sessions, so one ping keeps many sessions alive. Clients start at different hosts. After a failure
// SessionHome chooses another leader, because the routing may be stale.
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

// LeaderAt targets the leader of a slot's shard.
func LeaderAt(slot uint16) Target {
	return func(r *routes, _ Tried) *Host { return r.of(slot).leaderOf() }
}

// ShardLeader targets a shard's leader.
func ShardLeader(id uint64) Target {
	return func(r *routes, _ Tried) *Host { return r.shard(id).leaderOf() }
}

// ReplicaAt targets some host with a replica of a slot's shard, and a different host on each attempt.
func ReplicaAt(slot uint16) Target {
	return func(r *routes, tried Tried) *Host { return r.of(slot).replicaFrom(rand.Uint32(), tried) }
}

// HomeOf targets the client's home replica for a slot's shard, while the host is reachable. Reads from one host never
// go back in time, and requests to one host share system calls. Each client chooses its own home, which spreads clients
// over all hosts.
func (c *Cluster) HomeOf(slot uint16) Target {
	return func(r *routes, tried Tried) *Host { return r.of(slot).replicaFrom(c.home, tried) }
}

// NearLeader targets the leader of a slot's shard, because the leader has the client's latest changes. If the leader
// did not answer, NearLeader targets another replica.
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
	case !tried.has(leader) || tried.has(replica): // another leader may have been elected meanwhile
		return leader
	}
	return replica
}

// replicaFrom returns the next host in a ring that holds the shard, preferably a host that was reachable at the
// client's last connection attempt.
func (s *shardRoute) replicaFrom(from uint32, tried Tried) *Host {
	if s == nil || len(s.replicas) == 0 {
		return nil
	}
	first := from % uint32(len(s.replicas))
	return tried.next((*Host).reachable, s.replicas[first:], s.replicas[:first])
}

// Host returns the target's host, nil if the host is not known.
func (c *Cluster) Host(t Target) *Host { return t(c.routes.Load(), nil) }
