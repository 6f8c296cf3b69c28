package admin_test

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/admin"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

// TestOperatorWeighsShardsAndPausesRebalancing: the description has the weights, the planned moves and the last order.
func TestOperatorWeighsShardsAndPausesRebalancing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := clienttest.New(t, servertest.Shards(2))
		a := admin.New(g.Client)
		for _, want := range []bool{true, false} {
			if changed, err := a.Rebalance(t.Context(), admin.RebalancePause, by); changed != want || err != nil {
				t.Errorf("paused: changed %t, %v", changed, err)
			}
		}
		for _, c := range []struct {
			shard   uint64
			weight  int
			changed bool
			err     error
		}{
			{1, 300, true, nil}, {1, 300, false, nil}, {9, 1, false, client.ErrNotFound},
			{1, 1001, false, client.ErrBadRequest}, {1, -1, false, client.ErrBadRequest},
		} {
			changed, err := a.SetShardWeight(t.Context(), c.shard, c.weight, by)
			if changed != c.changed || !errors.Is(err, c.err) {
				t.Errorf("shard %d with weight %d: changed %t, %v", c.shard, c.weight, changed, err)
			}
		}
		r, err := a.Rebalancing(t.Context())
		clienttest.Check(t, err)
		if !slices.Equal(r.Shards, []admin.ShardSlots{
			{ID: 1, Phase: "serving", Weight: 300, Slots: 2048, Target: 3072},
			{ID: 2, Phase: "serving", Weight: 100, Slots: 2048, Target: 1024},
		}) || !slices.Equal(r.Planned, []admin.PlannedMoves{{From: 2, To: 1, Slots: 1024}}) || r.Pending() != 1024 {
			t.Errorf("%+v", r)
		}
		if !r.Paused || r.NoPacing || r.Author != "ann" || r.Reason != "a test" {
			t.Errorf("the order is %+v", r)
		}
	})
}

// TestOperatorAddsAndRemovesShards: the added shards have the next ids, and the last shard cannot be removed.
func TestOperatorAddsAndRemovesShards(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := clienttest.New(t, servertest.Shards(2))
		a := admin.New(g.Client)
		_, err := a.Rebalance(t.Context(), admin.RebalancePause, by)
		clienttest.Check(t, err)
		if _, err := a.AddShards(t.Context(), 0, by); !errors.Is(err, client.ErrBadRequest) {
			t.Errorf("no shard: %v", err)
		}
		ids, err := a.AddShards(t.Context(), 2, by)
		for errors.Is(err, client.ErrPreconditionFailed) { // until the host is online
			time.Sleep(100 * time.Millisecond)
			ids, err = a.AddShards(t.Context(), 2, by)
		}
		if err != nil || !slices.Equal(ids, []uint64{3, 4}) {
			t.Fatalf("the new shards are %v, %v", ids, err)
		}
		for _, want := range []bool{true, false} {
			if changed, err := a.RemoveShards(t.Context(), ids[1:], by); changed != want || err != nil {
				t.Errorf("removed: changed %t, %v", changed, err)
			}
		}
		if _, err := a.RemoveShards(t.Context(), []uint64{9}, by); !errors.Is(err, client.ErrNotFound) {
			t.Errorf("an unknown shard: %v", err)
		}
		if _, err := a.RemoveShards(t.Context(), []uint64{1, 2}, by); !errors.Is(err, client.ErrPreconditionFailed) {
			t.Errorf("all shards that serve: %v", err)
		}
	})
}
