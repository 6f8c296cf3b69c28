package lease_test

import (
	"slices"
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// slotOne is the slot of the tests' sessions: see id.
var slotOne = id(1).Slot()

// left takes the slot out, and checks which sessions each holder has lost.
func (st *stage) left(want map[*lease.Holder][]uint64) {
	st.t.Helper()
	st.changes++
	lost := st.SlotLeft(slotOne, st.changes)
	if len(lost) != len(want) {
		st.t.Fatalf("%d holders have lost sessions; want %d", len(lost), len(want))
	}
	for _, l := range lost {
		var got []uint64
		for _, id := range l.Sessions {
			got = append(got, id.Counter())
		}
		if slices.Sort(got); !slices.Equal(got, want[l.Holder]) {
			st.t.Fatalf("a holder has lost %v; want %v", got, want[l.Holder])
		}
	}
}

// arrives brings the slot back with sessions.
func (st *stage) arrives(timeout time.Duration, sessions ...uint64) {
	st.changes++
	st.SlotArrived(slotOne, st.changes, st.now)
	for _, n := range sessions {
		st.Restore(id(n), nodeOne, timeout, st.now)
	}
}

func TestSessionsLeaveWithTheirSlotWhateverTheirState(t *testing.T) {
	st := newStage(t)
	one, two, gone := lease.NewHolder(st.now), lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, second, gone) // due below
	st.started(2, second, gone) // in doubt below
	gone.Close(st.now)
	st.pass(second)
	st.due(1, 2)
	st.Undecided(st.by(), []shard.SessionID{id(2)}, st.now)
	st.started(3, 30*second, one)
	st.started(4, 30*second, one)
	st.started(5, 30*second, two)
	silent := lease.NewHolder(st.now)
	st.started(6, 30*second, silent)
	silent.Close(st.now)
	other := shard.NewSessionID(slotOne+1, 7)
	if v := st.Start(other, nodeOne, 30*second, two, 0, st.now); v != lease.Attached {
		t.Fatal(v)
	}
	if c := st.Counts(); c.Expiring != 2 {
		t.Fatalf("%+v", c)
	}
	st.left(map[*lease.Holder][]uint64{one: {3, 4}, two: {5}})
	st.pong(one, false) // until the client knows
	one.Reported(2)
	two.Reported(1)
	st.pong(one, true)
	st.pong(two, true)
	for n := range uint64(6) {
		st.attaches(n+1, one, 9, lease.Unknown)
	}
	if c := st.Counts(); c != (lease.Counts{Attached: 1, Holders: 1}) {
		t.Errorf("%+v; want the session in another slot", c)
	}
	st.left(nil)
	st.pass(time.Hour)
	if due, _ := st.Due(st.now, 10, nil); len(due) != 1 || due[0].Session != other {
		t.Errorf("due: %v", due)
	}
}

func TestSessionsOfAnArrivedSlotGetTheirTimeoutAndTheGrace(t *testing.T) {
	st := newStage(t)
	st.pass(time.Hour)
	st.arrives(5*second, 1, 2)
	st.arrives(0, 3)
	for range 4 { // only the last arrival counts
		st.pass(second)
		st.arrives(5*second, 1, 2)
	}
	h := lease.NewHolder(st.now)
	st.refresh()
	st.attaches(2, h, 0, lease.Attached)
	st.pass(grace - 1)
	st.due()
	st.pass(1)
	st.due(3)
	st.pass(5*second - 1)
	st.due()
	st.pass(1)
	st.due(1, 2)
}

func TestNoEarlierProposalEndsASessionWhoseSlotArrives(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	for n := range uint64(4) {
		st.started(n+1, second, h)
	}
	h.Close(st.now)
	st.pass(second)
	st.due(1, 2, 3, 4)
	st.Undecided(st.by(), []shard.SessionID{id(2), id(3)}, st.now)
	st.pass(lease.RetryAfter)
	st.due(2, 3)
	st.Undecided(st.by(), []shard.SessionID{id(3)}, st.now)
	st.arrives(second, 1, 2, 3, 4) // the walk over the machine's sessions came first
	st.refresh()
	back := lease.NewHolder(st.now)
	for n := range uint64(3) {
		st.attaches(n+1, back, 0, lease.Attached)
	}
	if c := st.Counts(); c != (lease.Counts{Attached: 3, Detached: 1, Holders: 1}) {
		t.Errorf("%+v", c)
	}
	st.pass(grace + second - 1)
	back.Heard(st.now)
	st.due()
	st.pass(1)
	st.due(4)
}

func TestALeaderThatReadTheClockBeforeAnArrivalGivesTheGraceFromTheArrival(t *testing.T) {
	st := emptyStage(t, time.Hour)
	read := st.now
	st.pass(20 * second)
	st.arrives(second) // the table does not lead yet
	st.term++
	st.Lead(st.term, 0, read)
	st.Restore(id(1), nodeOne, second, read)
	st.Restored()
	if _, by := st.Due(st.now, 1, nil); by != st.by() {
		t.Errorf("the table judges by %+v; want %+v", by, st.by())
	}
	st.dueAt(20*second+grace+second, 1)
}

func TestAnOutcomeOfAnEarlierChangeCountIsIgnoredIfTheSlotArrivedSince(t *testing.T) {
	for name, report := range map[string]func(st *stage, by lease.Basis){
		"dropped":   func(st *stage, by lease.Basis) { st.Dropped(by, []shard.SessionID{id(1)}, st.now) },
		"undecided": func(st *stage, by lease.Basis) { st.Undecided(by, []shard.SessionID{id(1)}, st.now) },
		"removed": func(st *stage, by lease.Basis) {
			if lost := st.RemoveExpired(by, id(1)); lost != nil {
				st.t.Errorf("%p has lost the session", lost)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			h := lease.NewHolder(st.now)
			st.started(1, second, h)
			st.pass(second)
			st.due(1)
			early := st.by()
			h.Reported(1)
			st.left(nil)
			st.arrives(second, 1)
			st.pass(grace + second)
			st.due(1)
			report(st, early)
			st.attaches(1, h, 0, lease.Expiring) // the later proposal may still be applied
			st.pass(lease.RetryAfter)
			st.due()
			st.Dropped(st.by(), []shard.SessionID{id(1)}, st.now)
			st.attaches(1, h, 0, lease.Attached)
		})
	}
}

func TestAnOutcomeCountsIfOnlyOtherSlotsChanged(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	st.pass(second)
	st.due(1)
	by := st.by()
	st.SlotArrived(slotOne+1, 1, st.now)
	st.SlotsChanged(2)
	st.SlotsChanged(1) // late
	if _, now := st.Due(st.now, 1, nil); now.Changes != 2 {
		t.Errorf("the table judges by change count %d; want 2", now.Changes)
	}
	st.Dropped(by, []shard.SessionID{id(1)}, st.now)
	st.changes = 2
	st.attaches(1, h, 0, lease.Attached)
}

func TestABarrierCountsOnlyIfTheTableKnowsWhichSlotsHaveLeft(t *testing.T) {
	st := newStage(t)
	if st.Succeeded(st.Begin(st.now), st.term, 1) {
		t.Error("a barrier counts although the machine has applied a change that the table does not know")
	}
	st.left(nil)
	if !st.Succeeded(st.Begin(st.now), st.term, 1) {
		t.Error("a barrier does not count")
	}
}

func TestJoinAttachesOnlyAKnownSession(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	join := func(n uint64, want lease.Verdict) {
		t.Helper()
		if v := st.Join(id(n), h, 0, st.now); v != want {
			t.Errorf("join of %v: %v; want %v", id(n), v, want)
		}
	}
	for n := range uint64(2) {
		if v := st.Start(id(n+1), nodeOne, second, nil, 0, st.now); v != lease.Closed {
			t.Fatal(v)
		}
	}
	join(1, lease.Attached)
	join(1, lease.OutOfSequence)
	st.pass(second)
	st.due(1, 2)
	join(2, lease.Expiring)
	h.Reported(1)
	st.left(nil)
	join(2, lease.Unknown)
	st.Unlead()
	join(2, lease.NotLeading)
}
