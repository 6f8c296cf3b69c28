package cluster

import (
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
