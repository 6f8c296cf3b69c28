package loadgen

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/protocol"
)

// near reports whether two times are equal within a histogram's precision.
func near(got, want time.Duration) bool {
	return got >= want-want/100 && got <= want+want/100+time.Microsecond
}

func TestClosedLoopBeginsTheNextWhenTheLastIsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }
		l := drive(t.Context(), time.Second, 0, []operation{op, op, op}, nil)
		if n := l.latency.count(); n != 300 {
			t.Errorf("%d operations of 10 ms by 3 callers in 1 s", n)
		}
		if !near(l.latency.quantile(50), 10*time.Millisecond) || l.latency.most != 10*time.Millisecond ||
			l.seconds != 1 {
			t.Errorf("half of them within %v, all within %v, in %g s",
				l.latency.quantile(50), l.latency.most, l.seconds)
		}
	})
}

func TestAnOperationThatBeganInTimeIsCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(context.Context) error { time.Sleep(400 * time.Millisecond); return nil }
		l := drive(t.Context(), time.Second, 0, []operation{op}, nil)
		if n := l.latency.count(); n != 3 || l.seconds != 1.2 {
			t.Errorf("%d operations of 400 ms in %g s", n, l.seconds)
		}
	})
}

func TestOpenLoopCountsFromWhenAnOperationWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		// Each operation takes 1 ms, but the service is stalled for half a second in between. One caller can do 1,000 a
		// second and 100 are due, so the 50 due during the stall wait for its end.
		began := time.Now()
		op := func(context.Context) error {
			now := time.Since(began)
			if now >= 500*time.Millisecond && now < time.Second {
				time.Sleep(time.Second - now)
			}
			time.Sleep(time.Millisecond)
			return nil
		}
		l := drive(t.Context(), 2*time.Second, 100, []operation{op}, nil)
		if n := l.latency.count(); n != 200 {
			t.Errorf("%d operations were done, and 200 were due", n)
		}
		if l.latency.most != 501*time.Millisecond {
			t.Errorf("the longest took %v; it was due when the service stood still, half a second before its end",
				l.latency.most)
		}
		// The stall and its backlog cover about 55 of 200 operations.
		if got := l.latency.quantile(70); !near(got, time.Millisecond) {
			t.Errorf("70 of 100 took up to %v", got)
		}
		if got := l.latency.quantile(90); got < 200*time.Millisecond {
			t.Errorf("90 of 100 took up to %v: those that waited are not counted from when they were due", got)
		}
	})
}

func TestOpenLoopTellsWhatItCouldNotBegin(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(context.Context) error { time.Sleep(100 * time.Millisecond); return nil }
		l := drive(t.Context(), time.Second, 100, []operation{op}, nil)
		// Within a second plus the grace for late operations, 30 begin, and one more at the very end.
		if done, missed := l.latency.count(), l.failures.count[notStarted]; done != 31 || missed != 69 {
			t.Errorf("%d were done and %d never begun, of 100", done, missed)
		}
	})
}

func TestOpenLoopIsEvenAtARateBelowTheCallers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began := time.Now()
		var starts []time.Duration
		op := func(context.Context) error { starts = append(starts, time.Since(began)); return nil }
		l := drive(t.Context(), time.Second, 10, []operation{op}, nil)
		if l.latency.count() != 10 || len(l.failures.count) != 0 {
			t.Fatalf("%d operations, failures %v", l.latency.count(), l.failures.count)
		}
		for i, at := range starts {
			if at != time.Duration(i)*100*time.Millisecond {
				t.Errorf("operation %d began at %v", i, at)
			}
		}
	})
}

func TestFailuresAreNoOperations(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		op := func(context.Context) error {
			time.Sleep(10 * time.Millisecond)
			if n++; n%4 == 0 {
				return client.ErrNotAcquired
			}
			return nil
		}
		l := drive(t.Context(), 400*time.Millisecond, 0, []operation{op}, nil)
		if l.latency.count() != 30 || l.failures.count["NOT_ACQUIRED"] != 10 {
			t.Errorf("%d operations, failures %v", l.latency.count(), l.failures.count)
		}
	})
}

func TestAnOperationThatHangsIsBrokenOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		hang := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
		l := drive(t.Context(), time.Second, 0, []operation{hang}, nil)
		if l.failures.count["CANCELED"] != 1 {
			t.Errorf("failures %v", l.failures.count)
		}
		if want := (time.Second + lateStarts + patience).Seconds(); l.seconds != want {
			t.Errorf("it took %g s, and not %g", l.seconds, want)
		}
	})
}

func TestProgressIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		op := func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }
		var told []Progress
		l := drive(t.Context(), 10*time.Second, 0, []operation{op, op}, func(p Progress) { told = append(told, p) })
		if len(told) < 9 || len(told) > 11 {
			t.Errorf("told %d times in 10 s", len(told))
		}
		for _, p := range told[1:] {
			if p.PerSecond < 180 || p.PerSecond > 220 || p.Duration != 10*time.Second {
				t.Errorf("%+v", p)
			}
		}
		total, before := 0.0, 0.0
		for _, p := range l.timeline {
			total += p.PerSecond * (p.Seconds - before)
			before = p.Seconds
		}
		if total < 1990 || total > 2001 {
			t.Errorf("the timeline adds up to %g of 2,000 operations", total)
		}
	})
}

func TestStatusOf(t *testing.T) {
	for _, s := range []struct {
		err  error
		name string
	}{
		{&protocol.Error{Status: protocol.StatusOverloaded}, "OVERLOADED"},
		{errors.Join(errTest, &protocol.Error{Status: protocol.StatusFenced}), "FENCED"},
		{client.ErrUnavailable, "UNAVAILABLE"},
		{&client.SessionEnd{Reason: client.EndUnreachable}, "SESSION_EXPIRED"},
		{&client.SessionEnd{Reason: client.EndClosed}, "SESSION_CLOSED"},
		{context.DeadlineExceeded, "DEADLINE"},
		{errTest, "OTHER"},
	} {
		if got := statusOf(s.err); got != s.name {
			t.Errorf("%v is %s, and not %s", s.err, got, s.name)
		}
	}
}

func TestManyCallersShareRecorders(t *testing.T) {
	all := newRecorders(3 * maxRecorders)
	for i := range 3 * maxRecorders {
		all.of(i).record(time.Duration(i+1)*time.Microsecond, nil)
	}
	h, _ := all.sum()
	if len(all) != maxRecorders || h.count() != 3*maxRecorders || h.most != 3*maxRecorders*time.Microsecond {
		t.Errorf("%d recorders have %d times, the longest %v", len(all), h.count(), h.most)
	}
}

func TestATimeBeyondTheHistogramIsCounted(t *testing.T) {
	h := newHistogram()
	h.record(-time.Second)
	h.record(3 * time.Hour)
	if h.count() != 2 || h.most != 3*time.Hour {
		t.Errorf("%d times, the longest %v", h.count(), h.most)
	}
}

// BenchmarkOwnCost is a caller's overhead per operation.
func BenchmarkOwnCost(b *testing.B) {
	to := newRecorders(1).of(0)
	began := time.Now()
	last := time.Since(began)
	b.ReportAllocs()
	for b.Loop() {
		now := time.Since(began)
		to.record(now-last, nil)
		last = now
	}
}
