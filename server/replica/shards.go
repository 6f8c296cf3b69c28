package replica

import (
	"cmp"
	"math/rand/v2"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// shardTable finds the host's data shard replicas. A table never changes, so readers take no lock; Set.shards is
// replaced as a whole.
type shardTable struct {
	all   []*Replica // by ascending shard id
	byID  map[uint64]*Replica
	aside []*Replica // running replicas of removed shards
	slots [shard.Slots]*Replica
	// generations has the generation of each slot's owner, as far as the host knows.
	generations [shard.Slots]uint64
}

func newShardTable(all []*Replica) *shardTable {
	slices.SortFunc(all, func(a, b *Replica) int { return cmp.Compare(a.ID, b.ID) })
	t := &shardTable{all: all, byID: make(map[uint64]*Replica, len(all))}
	for _, r := range all {
		t.byID[r.ID] = r
		for i := range r.slots.Len() {
			t.slots[r.slots.At(i)] = r
		}
	}
	return t
}

// All returns all data shard replicas, by ascending shard id. The caller does not change the list.
func (s *Set) All() []*Replica { return s.shards.Load().all }

// Shard returns a data shard's replica, or nil if the shard is unknown or the meta shard.
func (s *Set) Shard(id uint64) *Replica { return s.shards.Load().byID[id] }

// place records a slot's owner, unless a higher generation is known, and reports whether the owner is new. Under
// generation 0, a different owner replaces the known owner: in a restored cluster, only the meta shard knows the first
// owners.
func (s *Set) place(slot shard.Slot, owner slots.Owner) bool {
	s.placing.Lock()
	defer s.placing.Unlock()
	t := s.shards.Load()
	r := t.byID[owner.Shard]
	known := slots.Owner{Shard: t.slots[slot].ID, Generation: t.generations[slot]}
	if r == nil || owner.Generation < known.Generation || owner == known ||
		owner.Generation == known.Generation && owner.Generation > 0 {
		return false
	}
	next := *t
	next.slots[slot], next.generations[slot] = r, owner.Generation
	s.shards.Store(&next)
	return true
}

// ownerOf returns a slot's owner, as far as the host knows.
func (s *Set) ownerOf(slot shard.Slot) slots.Owner {
	t := s.shards.Load()
	return slots.Owner{Shard: t.slots[slot%shard.Slots].ID, Generation: t.generations[slot%shard.Slots]}
}

// Generation returns the generation under which a shard owns a slot, as far as the host knows.
func (s *Set) Generation(slot shard.Slot) uint64 { return s.ownerOf(slot).Generation }

// Of returns the replica that serves a slot.
func (s *Set) Of(slot shard.Slot) *Replica { return s.shards.Load().slots[slot%shard.Slots] }

// Home returns the home shard replica for a session.
func (s *Set) Home(id shard.SessionID) *Replica { return s.Of(id.Slot()) }

// Some returns a random data shard's replica.
func (s *Set) Some() *Replica {
	all := s.All()
	return all[rand.IntN(len(all))]
}

// SomeLed returns the replica of a random shard that has slots and that the host leads, or nil.
func (s *Set) SomeLed() *Replica {
	all := s.All()
	n := len(all)
	from := rand.IntN(n)
	for i := range n {
		if r := all[(from+i)%n]; r.Leads() && r.leader.ready() && r.hasSlots() {
			return r
		}
	}
	return nil
}
