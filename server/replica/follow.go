package replica

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
	"github.com/signalbox/signalbox/shard/slots"
)

// A host has a seat for each data shard in the routing, with or without a replica of the shard. The goroutine that
// applies the meta shard's batches adds seats for added shards. The host's loop drops the seats of removed shards.

// seatsAtStart returns the seats before the host knows the routing: for the shards of the bootstrap, and for added
// shards with a replica on this host.
func (s *Set) seatsAtStart() (all []*Replica) {
	for _, g := range meta.InitialRanges(dataShards(s.config.Shards)) {
		var slots shard.SlotSet
		slots.Add(g.First, g.Last)
		all = append(all, s.newReplica(uint64(g.Shard), slots))
	}
	if s.config.Gained == nil {
		return all
	}
	for _, id := range s.config.Gained.Recorded() {
		if id > uint64(s.config.Shards) {
			all = append(all, s.newReplica(id, shard.SlotSet{}))
		}
	}
	return all
}

// addShards adds the missing seats for the shards in the routing.
func (s *Set) addShards(routing *meta.Routing) {
	s.placing.Lock()
	t := s.shards.Load()
	var added []*Replica
	for _, id := range routing.Shards {
		if t.seat(uint64(id)) == nil {
			r := s.newReplica(uint64(id), shard.SlotSet{})
			r.served.Store(true) // the host stays ready while it waits for the shard
			added = append(added, r)
		}
	}
	if added != nil {
		s.shards.Store(t.with(added))
	}
	s.placing.Unlock()
	if added == nil {
		return
	}
	for _, r := range t.all { // local replicas may have given slots to shards that were unknown
		if r.Holds() {
			r.noteSlots()
		}
	}
	s.log.Info("the host knows data shards that were added", "shards", len(added))
}

// dropShards removes the seats of the shards that are not in the routing. Afterwards requests, sessions and the loop
// ignore these shards. A running replica keeps its seat aside until the replica is discarded. The host's loop calls
// dropShards with an up-to-date meta shard replica, because an earlier state may lack shards with replicas on this
// host.
func (s *Set) dropShards(routing *meta.Routing) {
	if t := s.shards.Load(); len(t.aside) == 0 && !slices.ContainsFunc(t.all, func(r *Replica) bool {
		return !routing.Has(meta.ShardID(r.ID))
	}) {
		return
	}
	select {
	case s.changing <- struct{}{}: // no replica arrives or leaves meanwhile
		defer func() { <-s.changing }()
	default:
		s.upkeepDue.Store(true)
		return
	}
	s.placing.Lock()
	next, gone := s.shards.Load().without(routing)
	s.shards.Store(next)
	s.placing.Unlock()
	for _, r := range gone {
		s.log.Info("a data shard was removed", "shard", r.ID)
		s.retiring.Go(r.close)
	}
}

// close stops all work of a removed shard's seat.
func (r *Replica) close() {
	r.Pipeline.Close()
	r.Hub.End(replicaGone)
	r.Hub.Close()
	r.Inboxes.Wait()
}

// seat returns a shard's replica in the table, including replicas kept aside, or nil.
func (t *shardTable) seat(id uint64) *Replica {
	if r := t.byID[id]; r != nil {
		return r
	}
	if i := slices.IndexFunc(t.aside, func(r *Replica) bool { return r.ID == id }); i >= 0 {
		return t.aside[i]
	}
	return nil
}

// with returns the table with added replicas, which have no slots.
func (t *shardTable) with(added []*Replica) *shardTable {
	next := newShardTable(append(slices.Clone(t.all), added...))
	next.aside, next.slots, next.generations = t.aside, t.slots, t.generations
	return next
}

// without returns a table with only the shards in the routing, and the replicas that lose their seats.
func (t *shardTable) without(routing *meta.Routing) (next *shardTable, gone []*Replica) {
	var all, aside []*Replica
	for _, r := range slices.Concat(t.all, t.aside) {
		switch {
		case routing.Has(meta.ShardID(r.ID)):
			all = append(all, r)
		case r.Holds():
			aside = append(aside, r)
		default:
			gone = append(gone, r)
		}
	}
	next = newShardTable(all)
	next.aside, next.slots, next.generations = aside, t.slots, t.generations
	for _, g := range routing.Ranges {
		for slot := g.First; slot <= g.Last; slot++ {
			if next.byID[next.slots[slot].ID] == nil && next.byID[uint64(g.Shard)] != nil {
				next.slots[slot], next.generations[slot] = next.byID[uint64(g.Shard)], g.Generation
			}
		}
	}
	return next, gone
}

// noteSlots records the slot owners in the replica's state.
func (r *Replica) noteSlots() {
	for _, x := range r.Machine.ChangedSlots(nil) {
		switch x.State {
		case slots.Owned:
			r.set.placed(x.Number, slots.Owner{Shard: r.ID, Generation: x.Generation})
		case slots.Transferred, slots.Released:
			r.set.placed(x.Number, slots.Owner{Shard: x.To, Generation: x.Generation})
		}
	}
}

// retired reports whether a shard was removed. s is the shard's record, or nil after the record was deleted.
func retired(s *hosts.Shard) bool { return s == nil || s.Phase == hosts.ShardRetired }
