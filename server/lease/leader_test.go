package lease_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

func TestANewLeaderGivesEverySessionTimeoutAndGrace(t *testing.T) {
	st := newStage(t)
	st.Restore(id(1), nodeOne, 60*second, st.now)
	st.Restore(id(2), nodeOne, 40*second, st.now)
	st.Restore(id(3), nodeOne, 0, st.now)
	st.dueAt(10*second, 3)
	st.dueAt(50*second, 2)
	st.dueAt(70*second, 1)
}

func TestNothingIsDueBeforeTheGracePeriodIsOver(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.Restore(id(1), nodeOne, 5*second, st.now)
	st.Restore(id(2), nodeOne, 0, st.now)
	st.Restore(id(3), nodeOne, 5*second, st.now)
	for n := range uint64(3) {
		st.attaches(n+1, h, 0, lease.Attached)
	}
	st.attaches(3, lease.NewHolder(st.now), 0, lease.Attached) // and silent from here on
	h.Close(st.now)
	st.dueAt(10*second, 2)
	st.dueAt(15*second, 1, 3)
}

func TestASessionOfTheNewLeaderItselfGetsNoGrace(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 0, h)
	st.started(2, 5*second, h)
	h.Close(st.now)
	st.due(1)
	st.dueAt(5*second, 2)
}

func TestALateRestoreIsNoShorterThanItsTimeout(t *testing.T) {
	st := newStage(t)
	st.pass(30 * second)
	st.Restore(id(1), nodeOne, 5*second, st.now)
	st.dueAt(35*second, 1)
}

func TestTheGraceThatWasPromisedStays(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.Restore(id(1), nodeOne, 5*second, st.now)
	st.Restore(id(2), nodeOne, 5*second, st.now)
	st.grace = 2 * second
	st.Restore(id(3), nodeOne, 5*second, st.now)
	st.attaches(1, h, 0, lease.Attached)
	h.Close(st.now)
	st.dueAt(7*second, 3)
	st.dueAt(15*second, 1, 2)
}

func TestTheSequenceIsForgottenWithTheLeader(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 5*second, h)
	st.attaches(1, h, 9, lease.Attached)
	st.Unlead()
	st.lead()
	st.refresh()
	st.Restore(id(1), nodeOne, 5*second, st.now)
	st.attaches(1, h, 3, lease.Attached)
}

func TestDoubtEndsWithTheLeader(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	h.Close(st.now)
	st.pass(second)
	st.due(1)
	old := st.by()
	st.Undecided(old, []shard.SessionID{id(1)}, st.now)
	st.Unlead()
	st.lead()
	st.refresh()
	st.Restore(id(1), nodeOne, second, st.now)
	back := lease.NewHolder(st.now)
	st.attaches(1, back, 0, lease.Attached)
	st.pass(11 * second)
	st.due(1)
	st.Dropped(old, []shard.SessionID{id(1)}, st.now)
	st.attaches(1, back, 0, lease.Expiring)
}

func TestWhoLeadsNoMoreJudgesNothing(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	st.started(2, second, h)
	lost := st.Unlead()
	if len(lost) != 1 || lost[0].Holder != h || len(lost[0].Sessions) != 2 {
		t.Fatalf("lost: %+v; want both sessions of the holder", lost)
	}
	st.pass(time.Hour)
	st.due()
	if v := st.Start(id(3), nodeOne, second, h, 0, st.now); v != lease.NotLeading {
		t.Errorf("start: %v; want not-leading", v)
	}
	st.Restore(id(4), nodeOne, second, st.now)
	st.SetTimeout(id(1), second, st.now)
	st.Remove(id(1))
	if c := st.Counts(); c != (lease.Counts{}) {
		t.Errorf("%+v; want nothing", c)
	}
	if st.Unlead() != nil {
		t.Errorf("sessions are lost twice")
	}
}

func TestALaterLeadersCommandEndsTheJudging(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, second, h)
	st.Seen(st.term)
	st.pong(h, true)
	st.Seen(st.term + 1)
	st.pong(h, false)
	st.attaches(1, h, 0, lease.NotLeading)
	st.Restore(id(2), nodeOne, second, st.now)
	if v := st.Start(id(3), nodeOne, second, h, 0, st.now); v != lease.NotLeading {
		t.Errorf("start: %v; want not-leading", v)
	}
	st.pass(time.Hour)
	st.due()
	if c := st.Counts(); c != (lease.Counts{Attached: 1, Holders: 1}) {
		t.Errorf("%+v; want the session as it was", c)
	}
	if lost := st.Unlead(); len(lost) != 1 || len(lost[0].Sessions) != 1 {
		t.Errorf("lost: %+v; want the session", lost)
	}
	st.term++
	st.lead()
	st.Restored()
	st.refresh()
	st.started(3, second, h)
}

func TestATermIsLedOnce(t *testing.T) {
	for name, again := range map[string]func(st *stage){
		"while leading":     func(st *stage) { st.Lead(st.term+1, 0, st.now) },
		"of the same term":  func(st *stage) { st.Unlead(); st.Lead(st.term, 0, st.now) },
		"of an older term":  func(st *stage) { st.Unlead(); st.Lead(st.term-1, 0, st.now) },
		"told of too often": func(st *stage) { lease.NewHolder(st.now).Reported(1) },
	} {
		t.Run(name, func(t *testing.T) {
			st := newStage(t)
			defer func() {
				if recover() == nil {
					t.Error("no panic")
				}
			}()
			again(st)
		})
	}
}

func TestAConfigWithoutGraceIsRefused(t *testing.T) {
	for _, c := range []lease.Config{{}, {
		Grace: func(shard.NodeID) time.Duration { return 0 }, StallAfter: -1,
	}} {
		if _, err := lease.NewTable(c); err == nil {
			t.Errorf("%+v was accepted", c.StallAfter)
		}
	}
}
