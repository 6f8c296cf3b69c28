package lifecycle

import (
	"testing"
	"testing/synctest"
	"time"
)

// suspendable is a machine with clocks for a test.
type suspendable struct {
	suspended time.Duration
	reads     int
}

func (s *suspendable) suspension() time.Duration {
	s.reads++
	return s.suspended
}

func newClock(m *suspendable) *clock {
	c := &clock{}
	c.init(m.suspension)
	return c
}

func TestClockCountsSuspensions(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &suspendable{suspended: time.Hour} // before the client was made
		c := newClock(m)
		time.Sleep(time.Second)
		if now := c.now(); now != Instant(time.Second) {
			t.Errorf("the clock shows %v after a second", time.Duration(now))
		}
		m.suspended += time.Minute
		// The wall clock of a bubble does not show a suspension: the clock finds it by periodic looks.
		time.Sleep(lookEvery + time.Nanosecond)
		if now, want := c.now(), Instant(time.Second+lookEvery+time.Nanosecond+time.Minute); now != want {
			t.Errorf("the clock shows %v, want %v", time.Duration(now), time.Duration(want))
		}
	})
}

// TestClockNoticesSuspensionAtOnce: the wall clock has moved against the monotonic clock, as after every suspension.
func TestClockNoticesSuspensionAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &suspendable{}
		c := newClock(m)
		before := c.now()
		m.suspended = time.Minute
		c.apart.Add(-int64(m.suspended)) // the wall clock is a minute ahead of its value at the latest look
		if took := c.now().Sub(before); took != time.Minute {
			t.Errorf("the clock went on by %v, want a minute", took)
		}
	})
}

func TestClockIgnoresStepsOfTheWallClock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := newClock(&suspendable{})
		for _, step := range []time.Duration{time.Hour, -time.Hour} {
			before := c.now()
			c.apart.Add(int64(step))
			if took := c.now().Sub(before); took != 0 {
				t.Errorf("after a step of %v the clock went on by %v", step, took)
			}
		}
	})
}

// TestClockReadsSuspensionsSeldom: reading the clock stays cheap.
func TestClockReadsSuspensionsSeldom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := &suspendable{}
		c := newClock(m)
		for range 1000 {
			c.now()
		}
		if m.reads > 2 {
			t.Errorf("suspensions were read %d times", m.reads)
		}
	})
}

// TestSuspensionOfTheMachine: the difference between the real machine's two clocks does not change while it runs.
func TestSuspensionOfTheMachine(t *testing.T) {
	first := suspension()
	for range 100 {
		if d := suspension() - first; d > unlike || d < -unlike {
			t.Fatalf("the machine that runs was suspended for %v", d)
		}
	}
}

func BenchmarkNow(b *testing.B) {
	s := New()
	b.ReportAllocs()
	for b.Loop() {
		s.Now()
	}
}
