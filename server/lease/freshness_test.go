package lease_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
)

// window is the window of a grace period of 64 s: 63 s, to allow for clock drift.
const window = 63 * second

func newFreshness() *lease.Freshness {
	f := lease.NewFreshness()
	f.Rely(64 * second)
	return f
}

// freshUntil checks that the host is fresh until a time after the start, and no longer.
func freshUntil(t *testing.T, f *lease.Freshness, end time.Duration) {
	t.Helper()
	if !f.Fresh(start.Add(end - 1)) {
		t.Errorf("not fresh just before %v", end)
	}
	if f.Fresh(start.Add(end)) {
		t.Errorf("still fresh at %v", end)
	}
}

func TestAHostIsNotFreshBeforeItsFirstBarrier(t *testing.T) {
	f := newFreshness()
	f.Begin(start)
	for _, at := range []time.Duration{-time.Hour, 0, 1, time.Hour} {
		if f.Fresh(start.Add(at)) {
			t.Errorf("fresh at %v", at)
		}
	}
}

func TestFreshnessCountsFromTheBeginningOfTheBarrier(t *testing.T) {
	f := newFreshness()
	if !f.Succeeded(f.Begin(start.Add(5 * second))) {
		t.Fatal("the round does not count")
	}
	freshUntil(t, f, 5*second+window)
}

func TestAProcessThatWasStoppedIsNotFreshWhenItWakes(t *testing.T) {
	f := newFreshness()
	f.Succeeded(f.Begin(start))
	late := f.Begin(start.Add(second))
	if f.Fresh(start.Add(time.Hour)) {
		t.Error("fresh after an hour")
	}
	f.Succeeded(late) // its answer waited in a queue meanwhile
	freshUntil(t, f, second+window)
}

func TestRoundsMayEndInAnyOrder(t *testing.T) {
	f := newFreshness()
	early, late := f.Begin(start), f.Begin(start.Add(second))
	f.Succeeded(late)
	f.Succeeded(early)
	freshUntil(t, f, second+window)
}

func TestASmallerGraceHoldsAtOnceAndALargerOneFromTheNextBarrierOn(t *testing.T) {
	f := newFreshness()
	f.Succeeded(f.Begin(start))
	under := f.Begin(start)
	f.Rely(32 * second)
	freshUntil(t, f, window/2)
	if f.Succeeded(under) {
		t.Error("a round counts that was begun under another grace")
	}
	f.Rely(128 * second)
	freshUntil(t, f, window/2)
	f.Rely(128 * second)
	f.Succeeded(f.Begin(start.Add(second)))
	freshUntil(t, f, second+2*window)
}

func TestABarrierOfTheSameMomentUnderALargerGraceCountsByThat(t *testing.T) {
	f := newFreshness()
	f.Succeeded(f.Begin(start))
	f.Rely(128 * second)
	f.Succeeded(f.Begin(start))
	freshUntil(t, f, 2*window)
}

func TestARoundOfAnEarlierLeadershipDoesNotCount(t *testing.T) {
	for name, c := range map[string]struct {
		change func(st *stage)
		seen   uint64
	}{
		"that ended":                         {func(st *stage) { st.Unlead() }, 1},
		"that a newer one followed":          {func(st *stage) { st.Unlead(); st.lead() }, 2},
		"whose successor's command was seen": {func(st *stage) {}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			st := emptyStage(t, time.Hour)
			st.lead()
			r := st.Begin(st.now)
			c.change(st)
			if st.Succeeded(r, c.seen, 0) || st.Fresh(st.now) {
				t.Error("the round counts")
			}
		})
	}
}

func TestWhoLeadsNoMoreIsNotFresh(t *testing.T) {
	st := newStage(t)
	if !st.Fresh(st.now) {
		t.Fatal("not fresh while leading")
	}
	st.Unlead()
	if st.Fresh(st.now) {
		t.Error("fresh without leading")
	}
	st.lead()
	if st.Fresh(st.now) {
		t.Error("fresh before the first barrier of the new term")
	}
}
