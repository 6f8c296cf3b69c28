package operation

import (
	"reflect"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client/admin"
)

// TestSlotListSaysWhatMovesWaitFor: an attempt in progress may be for an order that was changed or cancelled meanwhile.
func TestSlotListSaysWhatMovesWaitFor(t *testing.T) {
	s := showSlots(nil, &admin.Slots{
		Ranges: []admin.SlotRange{{First: 0, Last: 99, Shard: 1}, {First: 100, Last: 100, Shard: 2, Generation: 4}},
		Moves: []admin.SlotMove{
			{Slot: 1, From: 1, To: 2, Into: 2, Age: 1500 * time.Millisecond},
			{Slot: 2, From: 1, To: 3, Into: 2},
			{Slot: 3, From: 1, Into: 2, Author: "ann", Reason: "load"},
			{Slot: 4, From: 1, To: 2, Failures: 2, LastError: "too large", Wait: 9 * time.Minute},
			{Slot: 5, From: 1, To: 2},
		},
	})
	if want := []Field{{"SLOTS", uint64(101)}, {"MOVES", 5}}; !reflect.DeepEqual(s.Fields, want) {
		t.Errorf("%v, want %v", s.Fields, want)
	}
	ranges, moves := s.Sections[0], s.Sections[1]
	want := []any{uint64(100), uint64(100), uint64(1), uint64(2), uint64(4)}
	if !reflect.DeepEqual(ranges.Rows[1], want) {
		t.Errorf("%v, want %v", ranges.Rows[1], want)
	}
	for i, want := range [][]any{
		{uint64(1), uint64(1), uint64(2), "moving", 2 * time.Second, 0, "", "", ""},
		{uint64(2), uint64(1), uint64(3), "waiting for the end of the attempt to move to shard 2", time.Duration(0), 0,
			"", "", ""},
		{uint64(3), uint64(1), uint64(2), "cancelled; the attempt in progress ends by itself", time.Duration(0), 0,
			"", "ann", "load"},
		{uint64(4), uint64(1), uint64(2), "next attempt in 9m0s", time.Duration(0), 2, "too large", "", ""},
		{uint64(5), uint64(1), uint64(2), "waiting; signalbox cluster why shows the reason", time.Duration(0), 0,
			"", "", ""},
	} {
		if !reflect.DeepEqual(moves.Rows[i], want) {
			t.Errorf("%v, want %v", moves.Rows[i], want)
		}
	}
}

// TestSlotMoveNeedsATargetOrACancellation: a request has one of the two, never both.
func TestSlotMoveNeedsATargetOrACancellation(t *testing.T) {
	for _, r := range []slotMoveRequest{
		{Slot: 1}, {Slot: 1, To: 2, Cancel: true}, {Slot: 1, Large: true, Cancel: true},
	} {
		if _, err := r.run(t.Context(), nil); err == nil {
			t.Errorf("%+v is accepted", r)
		}
	}
}
