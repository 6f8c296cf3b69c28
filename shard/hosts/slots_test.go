package hosts

import (
	"strings"
	"testing"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	table "github.com/signalbox/signalbox/shard/slots"
)

// newSlotFixture has the data shards 1 to 3. Slot 5 belongs to shard 1.
func newSlotFixture(t *testing.T) *fixture {
	f := &fixture{T: t, Records: New("c", []ShardID{1, 2, 3}), now: 1000}
	f.done(f.Bootstrap(f.at(), []InitialMember{{ID: 1, Name: "a", Addresses: addresses("a")}}))
	return f
}

// attempt begins the attempt of a step, and returns the generation.
func (f *fixture) attempt(slot shard.Slot, from, into ShardID) uint64 {
	f.Helper()
	g := f.MoveGeneration(slot, from, into)
	if g == 0 {
		f.Fatalf("no step may move slot %d from shard %d to shard %d", slot, from, into)
	}
	f.BeginMove(f.at(), slot, into)
	if again := f.MoveGeneration(slot, from, into); again != g {
		f.Fatalf("the attempt has generation %d, the step %d", again, g)
	}
	f.sound()
	return g
}

// sound checks that saved records can be loaded.
func (f *fixture) sound() {
	f.Helper()
	saved := f.Save(nil)
	if loaded, err := Load(saved); err != nil || string(loaded.Save(nil)) != string(saved) {
		f.Fatalf("the records are loaded otherwise: %v", err)
	}
}

func owner(id, generation uint64) table.Owner { return table.Owner{Shard: id, Generation: generation} }

func TestMovedSlotEndsItsOrder(t *testing.T) {
	f := newSlotFixture(t)
	f.existed(f.MoveSlot(f.at(), 5, 1, false))
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	f.existed(f.MoveSlot(f.at(), 5, 2, false))
	if o := f.SlotOrder(5); o.To != 2 || o.By != "op" || o.Why != "a test" || o.Since != f.now+1 {
		t.Errorf("the order is %+v", o)
	}
	g := f.attempt(5, 1, 2)
	f.done(f.AssignSlot(f.at(), 5, owner(2, g), ""))
	f.sound()
	if f.SlotOwner(5) != 2 || len(f.SlotOrders()) != 0 {
		t.Errorf("slot 5 belongs to shard %d, orders %+v", f.SlotOwner(5), f.SlotOrders())
	}
	f.existed(f.AssignSlot(f.at(), 5, owner(2, g), ""))
	f.existed(f.MoveSlot(f.at(), 5, 2, false))
	texts := []string{}
	for _, e := range f.Audit(1, MaxAudit) {
		if e.Event == EventSlot {
			texts = append(texts, e.Text)
		}
	}
	if got := strings.Join(texts, ", "); got != "slot 5 is to move from shard 1 to shard 2, "+
		"slot 5 moved from shard 1 to shard 2" {
		t.Errorf("the audit log has %s", got)
	}
}

func TestWrongSlotOrdersAreRefused(t *testing.T) {
	f := newSlotFixture(t)
	f.refused(protocol.StatusBadRequest, "no slot 4096", func() Answer { return f.MoveSlot(f.at(), 4096, 1, false) })
	f.refused(protocol.StatusBadRequest, "no slot 4096", func() Answer { return f.CancelMove(f.at(), 4096) })
	f.refused(protocol.StatusNotFound, "no data shard 0", func() Answer { return f.MoveSlot(f.at(), 5, 0, false) })
	f.refused(protocol.StatusNotFound, "no data shard 4", func() Answer { return f.MoveSlot(f.at(), 5, 4, false) })
	f.existed(f.CancelMove(f.at(), 5))
}

func TestKeptSlotIsTriedAgainAndThenWaits(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	for n := uint64(1); n <= 3; n++ {
		g := f.attempt(5, 1, 2)
		f.done(f.AssignSlot(f.at(), 5, owner(1, g+1), "12.4 MiB, limit 8 MiB"))
		f.sound()
		o, wait := f.SlotOrder(5), uint64(0)
		if n >= SlotAttempts {
			wait = f.now + 1 + SlotDelayMillis
		}
		if o.Failures != n || o.NotBefore != wait || o.Text != "12.4 MiB, limit 8 MiB" || f.SlotOwner(5) != 1 {
			t.Errorf("after failure %d: %+v", n, o)
		}
	}
	f.done(f.MoveSlot(f.at(), 5, 2, true)) // the operator tries again
	if o := f.SlotOrder(5); o.Failures != 0 || o.NotBefore != 0 || !o.Large {
		t.Errorf("the new order is %+v", o)
	}
}

// TestAttemptOutlivesItsOrder: a changed or cancelled order takes effect once the outcome of the attempt is on record.
func TestAttemptOutlivesItsOrder(t *testing.T) {
	opened, kept := owner(2, 1), owner(1, 2)
	for _, x := range []struct {
		name    string
		change  func(f *fixture) Answer
		outcome table.Owner
		to      ShardID // in the order that is left, 0 for no order
	}{
		{"cancelled, opened", func(f *fixture) Answer { return f.CancelMove(f.at(), 5) }, opened, 0},
		{"cancelled, kept", func(f *fixture) Answer { return f.CancelMove(f.at(), 5) }, kept, 0},
		{"to another shard, opened", func(f *fixture) Answer { return f.MoveSlot(f.at(), 5, 3, false) }, opened, 3},
		{"to another shard, kept", func(f *fixture) Answer { return f.MoveSlot(f.at(), 5, 3, false) }, kept, 3},
		{"back, opened", func(f *fixture) Answer { return f.MoveSlot(f.at(), 5, 1, false) }, opened, 1},
		{"back, kept", func(f *fixture) Answer { return f.MoveSlot(f.at(), 5, 1, false) }, kept, 0},
	} {
		t.Run(x.name, func(t *testing.T) {
			f := newSlotFixture(t)
			f.done(f.MoveSlot(f.at(), 5, 2, false))
			f.attempt(5, 1, 2)
			f.done(x.change(f))
			f.sound()
			if g := f.MoveGeneration(5, 1, 3); g != 0 {
				t.Errorf("a second attempt may begin, with generation %d", g)
			}
			f.BeginMove(f.at(), 5, 3)
			if o := f.SlotOrder(5); o == nil || o.Into != 2 || f.MoveGeneration(5, 1, 2) != 1 {
				t.Fatalf("the attempt is forgotten: %+v", o)
			}
			f.done(f.AssignSlot(f.at(), 5, x.outcome, "why"))
			f.sound()
			o := f.SlotOrder(5)
			if (o == nil) != (x.to == 0) || o != nil && (o.To != x.to || o.Into != 0) {
				t.Errorf("the order is %+v, want one to shard %d", o, x.to)
			}
		})
	}
}

func TestOrderToTheOwnerCancelsTheMove(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	f.done(f.MoveSlot(f.at(), 5, 1, false))
	if f.SlotOrder(5) != nil {
		t.Errorf("the order is %+v", f.SlotOrder(5))
	}
}

func TestOnlyTheAttemptsOutcomesAreRecorded(t *testing.T) {
	f := newSlotFixture(t)
	wrong := func(o table.Owner) {
		t.Helper()
		f.refused(protocol.StatusBadRequest, "was not issued", func() Answer { return f.AssignSlot(f.at(), 5, o, "") })
	}
	f.refused(protocol.StatusBadRequest, "no slot", func() Answer {
		return f.AssignSlot(f.at(), 5000, owner(1, 1), "")
	})
	wrong(owner(2, 1))
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	wrong(owner(2, 1))
	g := f.attempt(5, 1, 2)
	for _, o := range []table.Owner{owner(1, g), owner(2, g+1), owner(3, g), owner(2, g+2)} {
		wrong(o)
	}
	before := f.Clone()
	f.done(f.AssignSlot(f.at(), 5, owner(1, g+1), ""))
	f.existed(f.AssignSlot(f.at(), 5, owner(2, g), "")) // late
	if before.Slots().Pending(5) != g || before.SlotOrder(5).Into != 2 {
		t.Error("a clone has changed")
	}
	if again := f.attempt(5, 1, 2); again != g+2 {
		t.Errorf("the second attempt has generation %d", again)
	}
}

func TestBrokenSlotOrdersAreNotLoaded(t *testing.T) {
	for want, spoil := range map[string]func(r *Records){
		"belongs to shard 9":        func(r *Records) { r.slots.Init(7, 9) },
		"out of order":              func(r *Records) { r.orders[0], r.orders[1] = r.orders[1], r.orders[0] },
		"to move to shard 9":        func(r *Records) { r.orders[1].To = 9 },
		"slot 5 moves into shard 9": func(r *Records) { r.orders[0].Into = 9 },
		"slot 5 moves into shard 1": func(r *Records) { r.orders[0].Into = 1 },
		"for slot 6 is over":        func(r *Records) { r.orders[1].To = 1 },
		"slot 6 has half":           func(r *Records) { r.orders[1].Into = 2 },
		"slot 5 has half":           func(r *Records) { r.orders[0].Into = 0 },
		"has no order":              func(r *Records) { r.slots.Attempt(9) },
		"slot 4096 is out of order": func(r *Records) { r.orders[1].Slot = 4096 },
	} {
		f := newSlotFixture(t)
		f.done(f.MoveSlot(f.at(), 5, 2, false))
		f.done(f.MoveSlot(f.at(), 6, 2, false))
		f.attempt(5, 1, 2)
		spoil(f.Records)
		if _, err := Load(f.Save(nil)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// TestRenewedRecordsHaveTheInitialSlots: hosts of the new cluster expect the slots of a bootstrap.
func TestRenewedRecordsHaveTheInitialSlots(t *testing.T) {
	f := newSlotFixture(t)
	f.done(f.MoveSlot(f.at(), 5, 2, false))
	f.done(f.AssignSlot(f.at(), 5, owner(2, f.attempt(5, 1, 2)), ""))
	f.done(f.MoveSlot(f.at(), 6, 2, false))
	f.attempt(6, 1, 2)
	for shards := range 3 {
		next, err := f.Renewed(f.at(), Renewal{Cluster: "d", Data: []ShardID{1, 2, 3}[:shards+1],
			First: InitialMember{Name: "b", Addresses: addresses("b")}})
		if err != nil {
			t.Fatal(err)
		}
		if next.SlotOwner(5) != 1 || next.Slots().Of(5).Last != 0 || next.Slots().Of(6).Last != 0 ||
			len(next.SlotOrders()) != 0 {
			t.Errorf("%d shards: %+v, %+v, orders %+v", shards+1, next.Slots().Of(5), next.Slots().Of(6),
				next.SlotOrders())
		}
	}
}

// TestOneBackupDoesNotReleaseTheMovesThatAnotherHolds: only the backup with the latest renewal ends the hold. A hold is
// saved.
func TestOneBackupDoesNotReleaseTheMovesThatAnotherHolds(t *testing.T) {
	f := newSlotFixture(t)
	first, second := f.at(), f.at()
	first.By, second.By = "alice", "bob"
	f.done(f.HoldMoves(first, 1, Incarnation{}))
	f.done(f.HoldMoves(second, 1, Incarnation{}))
	f.ReleaseMoves(first)
	loaded, err := Load(f.Save(nil))
	if err != nil {
		t.Fatal(err)
	}
	if held := loaded.MovesHeld(second.Now); held == nil || held.By != "bob" || held.Until <= second.Now {
		t.Errorf("moves are held by %+v", held)
	}
	f.ReleaseMoves(second)
	if held := f.MovesHeld(second.Now); held != nil {
		t.Errorf("moves are held by %+v", held)
	}
	if a := f.HoldMoves(first, 1, Incarnation{7}); a.Status != protocol.StatusNotFound {
		t.Errorf("an unknown host holds moves: %+v", a)
	}
}

// TestARebuiltShardEndangersTheSlotsThatItMayHaveServed: the shard's slots on record, and slots with an attempt towards
// the shard. A slot is safe once another shard has opened it.
func TestARebuiltShardEndangersTheSlotsThatItMayHaveServed(t *testing.T) {
	f := newSlotFixture(t)
	var want shard.SlotSet
	for slot := range shard.Slot(shard.Slots) {
		if f.SlotOwner(slot) == 1 {
			want.Add(slot, slot)
		}
	}
	for _, x := range []struct {
		slot     shard.Slot
		from, to ShardID
		opened   bool
	}{{5, 1, 2, true}, {6, 1, 2, false}, {2000, 2, 1, true}, {2001, 2, 1, false}, {4000, 3, 2, false}} {
		f.done(f.MoveSlot(f.at(), x.slot, x.to, false))
		if g := f.attempt(x.slot, x.from, x.to); x.opened {
			f.done(f.AssignSlot(f.at(), x.slot, owner(uint64(x.to), g), ""))
		}
	}
	want.Remove(5)
	want.Add(2000, 2001)
	if set := f.Endangered(1); set != want {
		t.Errorf("shard 1 endangers %d slots, want %d", set.Len(), want.Len())
	}
}

// TestTheFenceIsAboveTheNumbersOfAllShards: the rebuilt shard may have continued above the numbers of another shard,
// from which it got a slot. The other shard may be removed by now.
func TestTheFenceIsAboveTheNumbersOfAllShards(t *testing.T) {
	f := &fixture{T: t, Records: New("c", []ShardID{1, 2, 3}), now: 1000}
	f.done(f.Bootstrap(f.at(), []InitialMember{{ID: 1, Name: "a", Addresses: addresses("a")},
		{ID: 2, Name: "b", Addresses: addresses("b")}, {ID: 3, Name: "c", Addresses: addresses("c")}}))
	count := func(id ShardID, order shard.OrderID, revision shard.Revision) {
		f.done(f.Count(f.at(), f.at().Term, []Count{{Shard: id, Counters: shard.Counters{LastOrder: order,
			LastRevision: revision, LastSession: uint64(revision) + 1}}}))
	}
	count(1, 100<<10+1, 100)
	count(2, 1<<50+2, 5000)
	f.done(f.AddShards(f.at(), []shard.HostID{1}))
	count(4, 1<<51+4, 6000)
	fence := func() uint64 {
		highest := f.Highest(f.now)
		if highest.LastRevision <= 6000 || highest.LastSession != 6001 {
			t.Errorf("the highest counters are %+v", highest)
		}
		g, err := Load(f.Save(nil))
		if err != nil {
			t.Fatal(err)
		}
		f.done(g.Recover(f.at(), Recovery{Shard: 1, Host: 1, Lost: []shard.HostID{2, 3}}, 0))
		return uint64(g.Shard(1).Fence)
	}
	if got := fence(); got <= 1<<51+4 || protocol.ShardOfOrder(got) != 1 {
		t.Errorf("the fence is %d", got)
	}
	f.edit(4).Bound.Longest = shard.Longest{Timeout: 90_000, Session: 7}
	f.done(f.RemoveShards(f.at(), []ShardID{4}))
	f.done(f.Cleared(f.at(), 4, f.Shard(4).Replicas[0].ID, f.Host(1).Incarnation))
	f.sound()
	if got := fence(); f.Shard(4) != nil || got <= 1<<51+4 {
		t.Errorf("after the removal of shard 4 the fence is %d", got)
	}
	if got := f.Longest(f.now).Timeout; got != 90_000 {
		t.Errorf("the longest timeout is %d", got)
	}
	f.now += 90_001
	if got := f.Longest(f.now).Timeout; got != shard.UnnotedTimeout {
		t.Errorf("after its time the longest timeout is %d", got)
	}
}
