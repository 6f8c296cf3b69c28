package overview

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/host"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/slots"
)

// newSlotBed has three data shards with a third of the slots each: shard 1 has the slots 0 to 1364.
func newSlotBed(t *testing.T) *bed {
	b := newBed(t, "a")
	b.Records = hosts.New("c", []hosts.ShardID{1, 2, 3})
	b.do(b.Records.Bootstrap(b.at("signalbox"), []hosts.InitialMember{{ID: 1, Name: "a", Addresses: addressesOf("a")}}))
	return b
}

func (b *bed) slots(id hosts.ShardID, from shard.Slot) *protocol.SlotListAnswer {
	return Slots(b.Records, b.Now, id, from)
}

func rangesIn(a *protocol.SlotListAnswer) []protocol.SlotRange { return slices.Collect(a.Ranges.All()) }

func TestSlotListShowsOwnersAndMoves(t *testing.T) {
	b := newSlotBed(t)
	r := b.Records
	for slot, to := range []hosts.ShardID{2, 3, 3} {
		b.do(r.MoveSlot(b.at("ann"), shard.Slot(slot), to, slot == 1))
	}
	r.BeginMove(b.at("x"), 0, 2)
	b.do(r.AssignSlot(b.at("x"), 0, slots.Owner{Shard: 2, Generation: r.Slots().Pending(0)}, ""))
	for range hosts.SlotAttempts {
		r.BeginMove(b.at("x"), 1, 3)
		b.do(r.AssignSlot(b.at("x"), 1, slots.Owner{Shard: 1, Generation: r.Slots().Pending(1) + 1}, "too large"))
	}
	r.BeginMove(b.at("x"), 2, 3)
	b.do(r.CancelMove(b.at("ann"), 2))
	b.Now += 5001 // orders count from the next millisecond

	a := b.slots(0, 0)
	failed := r.Slots().Of(1).Generation
	want := []protocol.SlotRange{
		{First: 0, Last: 0, ShardID: 2, Generation: r.Slots().Of(0).Generation},
		{First: 1, Last: 1, ShardID: 1, Generation: failed}, {First: 2, Last: 1364, ShardID: 1},
		{First: 1365, Last: 2729, ShardID: 2}, {First: 2730, Last: 4095, ShardID: 3},
	}
	if got := rangesIn(a); !slices.Equal(got, want) {
		t.Errorf("ranges %+v, want %+v", got, want)
	}
	moves := []host.SlotMove{
		{Slot: 1, From: 1, To: 3, Large: true, Author: "ann", Reason: "a test", Age: 5 * time.Second, Failures: 2,
			LastError: "too large", Wait: hosts.SlotDelayMillis*time.Millisecond - 5*time.Second},
		{Slot: 2, From: 1, Into: 3, Generation: r.Slots().Pending(2), Author: "ann", Reason: "a test",
			Age: 5 * time.Second},
	}
	if !slices.Equal(a.Moves, moves) || a.Next != 0 {
		t.Errorf("moves %+v and next %d, want %+v", a.Moves, a.Next, moves)
	}
	a = b.slots(2, 0)
	if got := rangesIn(a); !slices.Equal(got, []protocol.SlotRange{want[0], want[3]}) || len(a.Moves) != 0 {
		t.Errorf("shard 2 has the ranges %+v and the moves %+v", got, a.Moves)
	}
	if a = b.slots(3, 2); a.Ranges.Len() != 1 || !slices.Equal(a.Moves, moves[1:]) {
		t.Errorf("from slot 2 on, shard 3 has the ranges %+v and the moves %+v", rangesIn(a), a.Moves)
	}
}

// TestSlotListHasPages: a page ends before the move that does not fit, and the next page begins there.
func TestSlotListHasPages(t *testing.T) {
	b := newSlotBed(t)
	for slot := range shard.Slot(600) {
		b.do(b.Records.MoveSlot(b.at("ann"), slot*2, 3, false))
	}
	next, moves, first := uint64(0), 0, uint64(0)
	for _, want := range []int{host.MaxSlotMoves, host.MaxSlotMoves, 600 - 2*host.MaxSlotMoves} {
		a := b.slots(0, shard.Slot(next))
		for r := range a.Ranges.All() {
			if r.First != first || a.Next != 0 && r.Last >= a.Next {
				t.Fatalf("slots %d to %d follow after %d, and the next page begins at %d", r.First, r.Last, first,
					a.Next)
			}
			first = r.Last + 1
		}
		if len(a.Moves) != want || a.Moves[0].Slot != uint64(moves*2) {
			t.Fatalf("a page has %d moves from slot %d on", len(a.Moves), a.Moves[0].Slot)
		}
		next, moves = a.Next, moves+want
	}
	if next != 0 || first != shard.Slots {
		t.Errorf("the pages end before slot %d, and %d is next", first, next)
	}
}
