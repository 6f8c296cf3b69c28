package admin_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

func TestOperatorOrdersSlotMoves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := clienttest.New(t, servertest.Shards(2))
		a := admin.New(g.Client)
		all, err := a.Slots(t.Context(), 0)
		clienttest.Check(t, err)
		first := admin.SlotRange{First: 0, Last: 2047, Shard: 1}
		second := admin.SlotRange{First: 2048, Last: protocol.Slots - 1, Shard: 2}
		if !slices.Equal(all.Ranges, []admin.SlotRange{first, second}) || len(all.Moves) != 0 || all.Version == 0 {
			t.Errorf("%+v", all)
		}
		if s, err := a.Slots(t.Context(), 2); err != nil || !slices.Equal(s.Ranges, []admin.SlotRange{second}) {
			t.Errorf("%+v, %v", s, err)
		}
		for _, c := range []struct {
			slot, shard uint64
			changed     bool
			err         error
		}{
			{7, 1, false, nil}, {7, 9, false, client.ErrNotFound}, {protocol.Slots, 1, false, client.ErrBadRequest},
			{7, 2, true, nil},
		} {
			changed, err := a.MoveSlot(t.Context(), c.slot, c.shard, false, by)
			if changed != c.changed || !errors.Is(err, c.err) {
				t.Errorf("slot %d to shard %d: changed %t, %v", c.slot, c.shard, changed, err)
			}
		}
		if changed, err := a.CancelSlotMove(t.Context(), 8, by); changed || err != nil {
			t.Errorf("a move that nobody ordered is cancelled: %t, %v", changed, err)
		}
	})
}

func TestSlotListIsRestrictedToOneSlot(t *testing.T) {
	s := &admin.Slots{
		Ranges: []admin.SlotRange{{First: 0, Last: 99, Shard: 1}, {First: 100, Last: 4095, Shard: 2, Generation: 4}},
		Moves:  []admin.SlotMove{{Slot: 99, From: 1, To: 2}, {Slot: 100, From: 2, To: 1}},
	}
	s.Only(100)
	if !slices.Equal(s.Ranges, []admin.SlotRange{{First: 100, Last: 100, Shard: 2, Generation: 4}}) ||
		!slices.Equal(s.Moves, []admin.SlotMove{{Slot: 100, From: 2, To: 1}}) {
		t.Errorf("%+v", s)
	}
}
