package replica

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// A replica reacts to slots that have left its shard, or have arrived. slotLeft, slotArrived, slotGiven and
// slotsReplaced run on the goroutine that applies batches.

// slotLeft is called when the content of a slot has left the shard's state. Clients are notified about their sessions
// before any later pong.
func (r *Replica) slotLeft(slot shard.Slot, changes uint64) {
	x := r.Machine.Slot(slot)
	why := r.set.towards(slot, slots.Owner{Shard: x.To, Generation: x.Generation})
	for _, lost := range r.Leases.SlotLeft(slot, changes) {
		if c, ok := lost.Holder.Owner.(Conn); ok {
			for _, id := range lost.Sessions {
				r.set.Sessions.Detach(id, c, why)
			}
			r.Mark(c)
		}
		lost.Holder.Reported(len(lost.Sessions))
	}
	r.endStreams(func(s shard.Slot) bool { return s != slot }, why)
	r.leader.checkQuota(0)
	if r.Leads() {
		r.set.moves.offer(r, slot)
	}
}

// endStreams ends the watches and inboxes in slots for which stays returns false.
func (r *Replica) endStreams(stays func(shard.Slot) bool, why protocol.Result) {
	r.Hub.EndSlots(stays, why)
	r.OneShots.leave(stays)
	r.Inboxes.EndSlots(stays, why)
}

// slotArrived is called when the content of a slot has entered the shard's state.
func (r *Replica) slotArrived(slot shard.Slot, changes uint64) {
	now := r.set.Now() // read after the command was applied
	r.RelyOnGrace()
	r.Leases.SlotArrived(slot, changes, now)
	for _, v := range r.Machine.SessionsAt(slot, nil) {
		r.Leases.Restore(v.ID, v.Node, millis(v.Timeout), now)
		r.timeouts.applied(v.Timeout, v.ID)
	}
	r.placeSlot(slot)
	r.leader.recheck()
}

// placeSlot records that the shard owns a slot, and handles waiting requests.
func (r *Replica) placeSlot(slot shard.Slot) {
	s := r.set
	if x := r.Machine.Slot(slot); x.State == slots.Owned {
		s.moves.expectNoMore(slot)
		s.placed(slot, slots.Owner{Shard: r.ID, Generation: x.Generation})
	}
}

// slotGiven is called when another shard has opened a slot of this shard.
func (r *Replica) slotGiven(slot shard.Slot) {
	x := r.Machine.Slot(slot)
	owner := slots.Owner{Shard: x.To, Generation: x.Generation}
	if x.State != slots.Transferred && x.State != slots.Released || r.set.Shard(owner.Shard) == nil {
		return
	}
	r.set.placed(slot, owner)
	r.waits.leave(slot, r.set.towards(slot, owner))
}

// placed records a slot's owner, and handles waiting requests.
func (s *Set) placed(slot shard.Slot, owner slots.Owner) {
	if s.place(slot, owner) {
		s.HomeShards.homeMoved(slot)
	}
	s.moves.resume(slot, true)
}

// noteRouting adds the seats for added shards, and records the slot owners from the meta shard's slot table.
func (s *Set) noteRouting() {
	routing := s.Meta.Machine.Routing()
	s.addShards(&routing)
	for _, g := range routing.Ranges {
		owner := slots.Owner{Shard: uint64(g.Shard), Generation: g.Generation}
		for slot := g.First; slot <= g.Last; slot++ {
			if known := s.ownerOf(slot); known.Generation <= g.Generation && known != owner {
				s.placed(slot, owner)
			}
		}
	}
}

// slotsReplaced is called after the shard's state was replaced by a snapshot.
func (r *Replica) slotsReplaced() {
	owned, changes := r.Machine.Slots()
	r.Leases.SlotsChanged(changes)
	r.endStreams(owned.Has, BetweenShards)
	r.noteSlots()
}
