package load

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

func TestWhatEndsInTheMeasuredTimeCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		work := func(context.Context) error { time.Sleep(10 * time.Millisecond); return nil }
		r, err := Loop(t.Context(), Plan{
			Workload: "w", Callers: 2, Warmup: 95 * time.Millisecond, Duration: time.Second,
		}, []Operation{work, work})
		if err != nil {
			t.Fatal(err)
		}
		// From 95 ms to 1,095 ms: the ends at 100, 110, ... 1,090 of each of the two.
		if r.Operations != 200 || r.PerSecond != 200 || r.Seconds != 1 {
			t.Errorf("%d operations, %v/s in %v s", r.Operations, r.PerSecond, r.Seconds)
		}
		if l := r.LatencyUS; l.P50 < 9_900 || l.P50 > 10_100 || l.Max < 9_900 || l.Max > 10_100 {
			t.Errorf("latencies of 10 ms are reported as %+v", l)
		}
	})
}

func TestFailedOperationsAreCountedByTheirErrorAndNotAsDone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		work := func(context.Context) error {
			time.Sleep(time.Millisecond)
			if n++; n%4 == 0 {
				return errors.New("busy")
			}
			return nil
		}
		r, err := Loop(t.Context(), Plan{Workload: "w", Duration: 100*time.Millisecond + 1}, []Operation{work})
		if err != nil {
			t.Fatal(err)
		}
		if r.Operations != 75 || r.Errors["busy"] != 25 || len(r.Errors) != 1 {
			t.Errorf("%d operations, errors: %v", r.Operations, r.Errors)
		}
	})
}

func TestABrokenPromiseEndsTheRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var e Exclusion
		nothing := func(context.Context) error { return nil }
		work := e.Cycle(nothing, func(context.Context) error { time.Sleep(time.Millisecond); return nil })
		if err := work(t.Context()); err != nil {
			t.Fatal(err)
		}
		// A lock that lets everybody in at once.
		e.holders.Store(1)
		_, err := Loop(t.Context(), Plan{Workload: "handoff", Duration: time.Hour}, []Operation{work})
		if !errors.Is(err, ErrBroken) || !strings.Contains(err.Error(), "2 holders") {
			t.Errorf("the run ended with %v", err)
		}
	})
}

func TestStaleAndInventedReadsAreFound(t *testing.T) {
	for name, c := range map[string]struct {
		strict bool
		read   string
		want   bool
	}{
		"current":           {true, Value(3), true},
		"stale, relaxed":    {false, Value(1), true},
		"stale, strict":     {true, Value(1), false},
		"from the future":   {false, Value(5), false},
		"what nobody wrote": {false, "something", false},
	} {
		var p piece
		p.asked.Store(4)
		p.acknowledged.Store(3)
		if err := p.judge([]byte(c.read), 3, c.strict); (err == nil) != c.want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// bus delivers to watchers over channels, a millisecond later.
func bus(watchers int) (subscriptions []Subscription, update func(context.Context, int64) error) {
	var channels []chan int64
	for range watchers {
		c := make(chan int64, 1)
		channels = append(channels, c)
		subscriptions = append(subscriptions, func(ctx context.Context, seen func(int64) error) error {
			for {
				select {
				case n := <-c:
					time.Sleep(time.Millisecond)
					if err := seen(n); err != nil {
						return err
					}
				case <-ctx.Done():
					return ctx.Err()
				}
			}
		})
	}
	return subscriptions, func(_ context.Context, n int64) error {
		for _, c := range channels {
			c <- n
		}
		return nil
	}
}

func TestAnUpdateFollowsWhenAllHaveSeenTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subscriptions, update := bus(20)
		r, err := Watch(t.Context(), Plan{
			Workload: "watch", Watchers: 20, Warmup: 10*time.Millisecond + 1, Duration: 100 * time.Millisecond,
		}, subscriptions, update)
		if err != nil {
			t.Fatal(err)
		}
		if r.Operations != 100 || *r.Events != 2000 || *r.EventsPerSecond != 20_000 {
			t.Errorf("%d updates, %d events, %v/s", r.Operations, *r.Events, *r.EventsPerSecond)
		}
	})
}

func TestAnEventThatIsMissingOrTooMuchIsFound(t *testing.T) {
	for name, deliver := range map[string]func(n int64) int64{
		"twice":   func(n int64) int64 { return min(n, 5) },
		"skipped": func(n int64) int64 { return n + n/5 },
	} {
		synctest.Test(t, func(t *testing.T) {
			subscriptions, update := bus(3)
			_, err := Watch(t.Context(), Plan{Workload: "watch", Duration: time.Hour}, subscriptions,
				func(ctx context.Context, n int64) error { return update(ctx, deliver(n)) })
			if !errors.Is(err, ErrBroken) {
				t.Errorf("%s: %v", name, err)
			}
		})
	}
}

func TestAnEventThatNeverComesIsFound(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		subscriptions, update := bus(3)
		_, err := Watch(t.Context(), Plan{Workload: "watch", Duration: time.Hour}, subscriptions,
			func(ctx context.Context, n int64) error {
				if n == 7 {
					return nil
				}
				return update(ctx, n)
			})
		if !errors.Is(err, ErrBroken) || !strings.Contains(fmt.Sprint(err), "update 7") {
			t.Errorf("%v", err)
		}
	})
}

func TestPrepareGivesEverythingOrTheFirstError(t *testing.T) {
	all, err := Prepare(200, func(i int) (int, error) { return i * i, nil })
	if err != nil || len(all) != 200 || all[14] != 196 {
		t.Errorf("%v, %v", all, err)
	}
	refused := errors.New("refused")
	_, err = Prepare(200, func(i int) (int, error) {
		if i == 150 {
			return 0, refused
		}
		return 0, nil
	})
	if !errors.Is(err, refused) || !strings.Contains(err.Error(), "caller 150") {
		t.Error(err)
	}
}

func TestAResultIsReadAsLoadgenPrintsIt(t *testing.T) {
	r, err := report.Parse([]byte(`{"workload": "lock", "hosts": 3, "callers": 512, "connections": 8, "seconds": 5.01,
		"operations": 1000, "errors": {"UNAVAILABLE": 2}, "per_second": 199.6,
		"latency_us": {"p50": 10.5, "p90": 20, "p99": 30, "p999": 40, "max": 50}, "timeline": [{"seconds": 1, "per_second": 200}]}`))
	if err != nil {
		t.Fatal(err)
	}
	if r.Hosts != 3 || r.Operations != 1000 || r.Errors["UNAVAILABLE"] != 2 || r.LatencyUS.P999 != 40 {
		t.Errorf("%+v", r)
	}
	if _, err := report.Parse([]byte("usage: loadgen")); err == nil {
		t.Error("no JSON was taken for a result")
	}
}
