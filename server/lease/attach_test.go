package lease_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
)

func TestAnAttachIsRefused(t *testing.T) {
	for _, c := range []struct {
		name  string
		setup func(st *stage, h *lease.Holder)
		want  lease.Verdict
	}{
		{"where the shard is not led", func(st *stage, h *lease.Holder) { st.Unlead() }, lease.NotLeading},
		{"while a new leader has not seen all sessions", func(st *stage, h *lease.Holder) {
			st.Unlead()
			st.lead()
			st.refresh()
		}, lease.Restoring},
		{"where the session has ended", func(st *stage, h *lease.Holder) { st.Remove(id(1)) }, lease.Unknown},
		{"when a later one has come before", func(st *stage, h *lease.Holder) {
			st.attaches(1, h, 6, lease.Attached)
		}, lease.OutOfSequence},
		{"while the session expires", func(st *stage, h *lease.Holder) {
			st.pass(time.Minute)
			st.due(1)
		}, lease.Expiring},
		{"by a host that cannot vouch for anything", func(st *stage, h *lease.Holder) {
			st.Rely(second)
			st.pass(second)
		}, lease.NotFresh},
		{"for a connection that has gone", func(st *stage, h *lease.Holder) { h.Close(st.now) }, lease.Closed},
		{"late rather than early: out of sequence while expiring", func(st *stage, h *lease.Holder) {
			st.attaches(1, h, 6, lease.Attached)
			st.pass(time.Minute)
			st.due(1)
		}, lease.OutOfSequence},
	} {
		t.Run(c.name, func(t *testing.T) {
			st := newStage(t)
			h := lease.NewHolder(st.now)
			st.started(1, 30*second, lease.NewHolder(st.now))
			c.setup(st, h)
			if lost := st.attaches(1, h, 5, c.want); lost != nil {
				t.Errorf("a refused attach took the session from its holder")
			}
		})
	}
}

func TestARefusedAttachChangesNothing(t *testing.T) {
	st := newStage(t)
	first, gone := lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, 30*second, first)
	gone.Close(st.now)
	st.pass(10 * second)
	st.attaches(1, gone, 9, lease.Closed)
	st.attaches(1, first, 8, lease.Attached)
	st.pong(first, true)
}

func TestTheSequenceMayRepeatButNotGoBack(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	if v := st.Start(id(1), nodeOne, second, h, 42, st.now); v != lease.Attached {
		t.Fatal(v)
	}
	st.attaches(1, h, 41, lease.OutOfSequence)
	st.attaches(1, h, 42, lease.Attached)
	st.attaches(1, h, 43, lease.Attached)
	st.attaches(1, h, 42, lease.OutOfSequence)
}

func TestAnAttachTakesTheSessionFromItsHolder(t *testing.T) {
	st := newStage(t)
	a, b := lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, 30*second, a)
	st.started(2, 30*second, a)
	if lost := st.attaches(1, b, 0, lease.Attached); lost != a {
		t.Fatalf("lost to %p; want the old holder", lost)
	}
	if lost := st.attaches(1, b, 0, lease.Attached); lost != nil {
		t.Fatalf("lost by attaching over the same holder again")
	}
	st.pass(20 * second)
	b.Heard(st.now)
	st.dueAt(30*second, 2)
	a.Close(st.now)
	st.dueAt(50*second, 1)
}

func TestAnAttachCountsAsHeard(t *testing.T) {
	st := newStage(t)
	h, late := lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, 10*second, h)
	st.pass(9 * second)
	h.Close(st.now)
	st.pass(9 * second)
	// Its request was read 18 s ago and waited for a barrier. The old connection may have been active until it closed.
	st.attaches(1, late, 0, lease.Attached)
	st.dueAt(28*second, 1)
}

func TestASlowAttachDoesNotUndoWhatTheHolderHeard(t *testing.T) {
	st := newStage(t)
	a, b := lease.NewHolder(st.now), lease.NewHolder(st.now)
	st.started(1, 10*second, a)
	read := st.now // when the request for the attach was read
	st.pass(8 * second)
	st.pong(a, true)
	if _, v := st.Attach(id(1), b, 0, read); v != lease.Attached {
		t.Fatal(v)
	}
	st.dueAt(18*second, 1)
}

func TestATableKnowsWhoHoldsASession(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.started(1, 10*second, h)
	if got := st.Holder(id(1)); got != h {
		t.Errorf("attached: %p; want its holder", got)
	}
	h.Close(st.now)
	for n := range uint64(2) {
		if got := st.Holder(id(n + 1)); got != nil {
			t.Errorf("%v has a holder", id(n+1))
		}
	}
}

func TestASessionThatStartsForAClosedConnectionIsDetached(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	h.Close(st.now)
	for n, timeout := range []time.Duration{10 * second, 0} {
		if v := st.Start(id(uint64(n+1)), nodeOne, timeout, h, 0, st.now); v != lease.Closed {
			t.Fatalf("verdict %v; want closed", v)
		}
	}
	st.due(2)
	st.dueAt(10*second, 1)
}

func TestAStartMayComeAfterTheWalkThatFoundIt(t *testing.T) {
	st := newStage(t)
	h := lease.NewHolder(st.now)
	st.Restore(id(1), nodeOne, 10*second, st.now)
	st.started(1, 10*second, h)
	if c := st.Counts(); c != (lease.Counts{Attached: 1, Holders: 1}) {
		t.Fatalf("%+v; want one attached", c)
	}
	st.Restore(id(1), nodeOne, 10*second, st.now)
	if c := st.Counts(); c.Attached != 1 {
		t.Fatalf("%+v: restoring what is known changed it", c)
	}
}

func TestCountsFollow(t *testing.T) {
	st := newStage(t)
	a, b := lease.NewHolder(st.now), lease.NewHolder(st.now)
	want := func(w lease.Counts) {
		t.Helper()
		if got := st.Counts(); got != w {
			t.Fatalf("%+v; want %+v", got, w)
		}
	}
	st.started(1, 10*second, a)
	st.started(2, 20*second, a)
	st.started(3, 10*second, b)
	want(lease.Counts{Attached: 3, Holders: 2})
	b.Close(st.now)
	want(lease.Counts{Attached: 2, Detached: 1, Holders: 1})
	st.pass(10 * second)
	st.due(1, 3)
	want(lease.Counts{Attached: 1, Expiring: 2, Holders: 1})
	st.Remove(id(1))
	st.Remove(id(2))
	want(lease.Counts{Expiring: 1, Expired: 1})
	st.Unlead()
	want(lease.Counts{Expired: 1})
}
