package hosts

import (
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func TestAddedShardTakesSlotsOnceItServes(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.AddShards(f.at(), []shard.HostID{1, 1}))
	f.sound()
	s := f.Shard(5)
	if f.LastShard() != 5 || s == nil || s.Phase != ShardAdded || s.Share() != 0 || s.InitialReplica() == nil ||
		s.InitialReplica().Host != 1 {
		t.Fatalf("the added shard is %+v", s)
	}
	f.refused(protocol.StatusPreconditionFailed, "shard 4 takes no slots", func() Answer {
		return f.MoveSlot(f.at(), 5, 4, false)
	})
	if g := f.MoveGeneration(5, 1, 4); g != 0 {
		t.Errorf("a slot may move to a shard that does not serve, with generation %d", g)
	}
	f.done(f.MarkServing(f.at(), f.at().Term, 4))
	f.existed(f.MarkServing(f.at(), f.at().Term, 4))
	f.sound()
	if n := f.Targets(); n[1] != 1024 || n[2] != 1024 || n[3] != 1024 || n[4] != 1024 || n[5] != 0 {
		t.Errorf("the targets are %v", n)
	}
	f.done(f.WeighShard(f.at(), 4, 1))
	if n := f.Targets(); n[1] != 1361 || n[2] != 1361 || n[3] != 1361 || n[4] != 13 {
		t.Errorf("the targets are %v", n)
	}
	f.attempt(5, 1, 4)
	f.done(f.AssignSlot(f.at(), 5, owner(4, 1), ""))
	if len(f.SlotOrders()) != 0 || f.SlotOwner(5) != 4 {
		t.Errorf("slot 5 belongs to shard %d, orders %+v", f.SlotOwner(5), f.SlotOrders())
	}
	f.sound()
}

func TestRemovedShardGoesOnceItOwnsNothing(t *testing.T) {
	f := newSlotFixture(t)
	f.refused(protocol.StatusPreconditionFailed, "no other shard", func() Answer {
		return f.RemoveShards(f.at(), []ShardID{1, 2, 3})
	})
	f.refused(protocol.StatusNotFound, "no data shard 0", func() Answer { return f.RemoveShards(f.at(), []ShardID{0}) })
	f.done(f.AddShards(f.at(), []shard.HostID{1}))
	f.done(f.RemoveShards(f.at(), []ShardID{1, 4}))
	f.existed(f.RemoveShards(f.at(), []ShardID{1, 4}))
	f.refused(protocol.StatusPreconditionFailed, "no other shard", func() Answer {
		return f.RemoveShards(f.at(), []ShardID{2, 3})
	})
	f.refused(protocol.StatusStale, "has slots", func() Answer { return f.Retire(f.at(), f.at().Term, 1) })
	f.existed(f.Retire(f.at(), f.at().Term, 4)) // it has never had a slot
	f.sound()
	if s := f.Shard(4); s.Phase != ShardRetired || s.Voters() != 0 {
		t.Errorf("the retired shard is %+v", s)
	}
	f.done(f.Cleared(f.at(), 4, f.Shard(4).Replicas[0].ID, f.Host(1).Incarnation))
	if f.Shard(4) != nil {
		t.Error("the shard is still on record")
	}
	f.existed(f.RemoveShards(f.at(), []ShardID{4, 1}))
	f.refused(protocol.StatusNotFound, "no data shard 5", func() Answer {
		return f.RemoveShards(f.at(), []ShardID{4, 5})
	})
	f.done(f.AddShards(f.at(), []shard.HostID{1}))
	if f.Shard(5) == nil {
		t.Error("the id of the removed shard is used again")
	}
	f.sound()
}

func TestRepeatedShardIsRemovedOnce(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.AddShards(f.at(), []shard.HostID{1}))
	f.done(f.RemoveShards(f.at(), []ShardID{4, 1, 4, 1}))
	if f.Shard(1).Phase != ShardLeaving || f.Shard(4).Phase != ShardRetired {
		t.Errorf("the shards are %s and %s", f.Shard(1).Phase, f.Shard(4).Phase)
	}
	f.sound()
}

func TestCancelledRebalancingKeepsAttempts(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.WeighShard(f.at(), 1, 50))
	f.attempt(5, 1, 2)
	f.done(f.SetRebalance(f.at(), protocol.RebalanceCancel))
	f.existed(f.SetRebalance(f.at(), protocol.RebalanceCancel))
	f.existed(f.SetRebalance(f.at(), protocol.RebalancePause))
	if o := f.SlotOrder(5); o.To != 0 || o.Into != 2 || !f.Rebalance().Paused {
		t.Errorf("the order is %+v", o)
	}
	f.done(f.AssignSlot(f.at(), 5, owner(1, 2), "cancelled"))
	f.done(f.SetRebalance(f.at(), protocol.RebalanceNow))
	if len(f.SlotOrders()) != 0 || !f.Rebalance().Now {
		t.Errorf("orders %+v", f.SlotOrders())
	}
	f.sound()
	f.done(f.WeighShard(f.at(), 1, 100))
	for slot := range shard.Slot(shard.Slots) { // the bootstrap gives the slot of the remainder to another shard
		if f.Rebalance().Due && f.SlotOwner(slot) == 3 {
			f.done(f.AssignSlot(f.at(), slot, owner(1, f.attempt(slot, 3, 1)), ""))
		}
	}
	if b := f.Rebalance(); b.Due || b.Now {
		t.Errorf("with the targets reached: %+v", b)
	}
	f.existed(f.SetRebalance(f.at(), protocol.RebalanceResume))
	f.existed(f.SetRebalance(f.at(), protocol.RebalanceNow))
	f.sound()
}

func TestSlotsMovedByOperatorsStay(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	f.done(f.AssignSlot(f.at(), 5, owner(2, f.attempt(5, 1, 2)), ""))
	if g := f.MoveGeneration(5, 2, 1); f.Rebalance().Due || g != 0 {
		t.Errorf("the moved slot may return, with generation %d", g)
	}
	f.done(f.SetRebalance(f.at(), protocol.RebalanceResume))
	f.attempt(5, 2, 1)
	f.sound()
}

func TestRemovalCancelsOrdersIntoTheShard(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	f.done(f.MoveSlot(f.at(), 6, 2, false))
	g := f.attempt(5, 1, 2)
	f.done(f.RemoveShards(f.at(), []ShardID{2}))
	if o := f.SlotOrder(5); o == nil || o.To != 0 || f.SlotOrder(6) != nil {
		t.Errorf("the orders are %+v", f.SlotOrders())
	}
	f.done(f.AssignSlot(f.at(), 5, owner(2, g), "")) // the shard had opened the slot
	f.attempt(5, 2, 1)
	f.sound()
}

func TestAddedShardBeginsAgain(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.Join(f.at(), joinOf("b", 2)))
	f.done(f.AddShards(f.at(), []shard.HostID{1}))
	f.done(f.Known(f.at(), f.at().Term, 4, 1, []Member{{Replica: f.Shard(4).Replicas[0].ID, Role: RoleVoter}}))
	f.refused(protocol.StatusStale, "in group 1", func() Answer { return f.BeginAgain(f.at(), f.at().Term, 4, 2, 2) })
	f.done(f.BeginAgain(f.at(), f.at().Term, 4, 1, 2))
	s := f.Shard(4)
	if s.Group != 2 || s.InitialReplica() == nil || s.InitialReplica().Host != 2 || s.On(1).Role != RoleRemoved {
		t.Errorf("the shard is %+v", s)
	}
	f.done(f.MarkServing(f.at(), f.at().Term, 4))
	f.refused(protocol.StatusStale, "is serving", func() Answer { return f.BeginAgain(f.at(), f.at().Term, 4, 2, 1) })
	f.sound()
}

func TestWeightsAreBounded(t *testing.T) {
	f := newSlotFixture(t)
	f.refused(protocol.StatusBadRequest, "the weight is 1001", func() Answer { return f.WeighShard(f.at(), 1, 1001) })
	f.existed(f.WeighShard(f.at(), 1, DefaultWeight))
	f.done(f.WeighShard(f.at(), 1, 0))
	f.done(f.WeighShard(f.at(), 2, 0))
	f.refused(protocol.StatusPreconditionFailed, "no other shard", func() Answer { return f.WeighShard(f.at(), 3, 0) })
	f.sound()
}
