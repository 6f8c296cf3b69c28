package admin

import (
	"context"
	"slices"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/cluster"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
)

// Slots lists which shard owns each slot, and which moves are ordered. A slot is one of 4096 hash buckets of names: the
// owner stores the objects with these names.
type Slots struct {
	Version uint64 `name:"version"` // grows with each move
	Ranges  []SlotRange
	Moves   []SlotMove
}

// SlotRange is a range of slots with the same owner.
type SlotRange struct {
	First uint64 `omit:"never"`
	Last  uint64 `omit:"never"` // included
	Shard uint64
	// Generation is a number that grows with every attempt to move the slots; 0 if there was none.
	Generation uint64
}

// SlotMove is an unfinished move of a slot, ordered by an operator or begun by rebalancing.
type SlotMove = host.SlotMove

// Slots returns the owner of each slot, and the unfinished moves, by slot. If shard is not 0, the answer is restricted
// to the slots of this shard, and to moves from or to this shard.
func (a *Admin) Slots(ctx context.Context, shard uint64) (*Slots, error) {
	s, m := &Slots{}, &protocol.SlotList{ShardID: shard}
	for {
		err := a.read(ctx, OpSlots, cluster.MetaLeader, m, func(a *protocol.Answer) { m.From = s.add(&a.SlotList) })
		if err != nil || m.From == 0 {
			return s, err
		}
	}
}

// add adds a page, and returns the first slot of the next page.
func (s *Slots) add(page *protocol.SlotListAnswer) (next uint64) {
	s.Version = page.Version
	for r := range page.Ranges.All() {
		s.Ranges = append(s.Ranges, SlotRange{r.First, r.Last, r.ShardID, r.Generation})
	}
	s.Moves = append(s.Moves, page.Moves...)
	return page.Next
}

// Only restricts the list to one slot.
func (s *Slots) Only(slot uint64) {
	s.Ranges = slices.DeleteFunc(s.Ranges, func(r SlotRange) bool { return slot < r.First || slot > r.Last })
	for i := range s.Ranges {
		s.Ranges[i].First, s.Ranges[i].Last = slot, slot
	}
	s.Moves = slices.DeleteFunc(s.Moves, func(m SlotMove) bool { return m.Slot != slot })
}

// MoveSlot orders the move of a slot to another data shard. The order stands until the shard owns the slot. A slot with
// more than 1 MiB or 30,000 records moves only with large, with a longer pause for its clients, up to 8 MiB and 120,000
// records. changed is false if the shard owns the slot, or the same order was on record.
func (a *Admin) MoveSlot(ctx context.Context, slot, shard uint64, large bool, by ChangeInfo) (changed bool, err error) {
	return a.moveSlot(ctx, OpMoveSlot, &protocol.SlotMove{Slot: slot, ShardID: shard, Large: large}, by)
}

// CancelSlotMove cancels the order to move a slot. An attempt in progress ends by itself: if the other shard has opened
// the slot, the slot stays there. changed is false if there was no order.
func (a *Admin) CancelSlotMove(ctx context.Context, slot uint64, by ChangeInfo) (changed bool, err error) {
	return a.moveSlot(ctx, OpCancelSlotMove, &protocol.SlotMove{Slot: slot, Cancel: true}, by)
}

func (a *Admin) moveSlot(
	ctx context.Context, op client.OperationKind, m *protocol.SlotMove, by ChangeInfo,
) (changed bool, err error) {
	m.Operation = by.operation()
	err = a.change(ctx, op, number(m.Slot), m, &m.Operation, func(a *protocol.Answer) uint64 {
		changed = !a.SlotMove.Existed
		return a.SlotMove.Since
	})
	return changed, err
}
