// Package load is a closed loop for driving a peer. Reports use the format of Signalbox's load generator, so that
// reports are equal for all contestants.
package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// Plan is one workload run.
type Plan struct {
	Workload    string
	Hosts       int
	Callers     int
	Connections int
	Watchers    int
	Warmup      time.Duration // before the measured time
	Duration    time.Duration // what is measured
}

// Operation is a caller's repeated action; a caller runs one at a time.
type Operation func(ctx context.Context) error

// ErrBroken is wrapped by errors about a broken guarantee, such as two holders of one lock. ErrBroken ends the run,
// because figures from a broken service are meaningless.
var ErrBroken = errors.New("the service broke a promise")

// window is the measured part of a run.
type window struct{ from, to time.Time }

func (p Plan) window() window {
	from := time.Now().Add(p.Warmup)
	return window{from, from.Add(p.Duration)}
}

func (w window) has(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

// Loop repeats every caller's operation until the plan's time is over. Operations that end within the measured time
// count.
func Loop(ctx context.Context, plan Plan, callers []Operation) (*report.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	all := make([]*recorder, min(recorders, len(callers)))
	for i := range all {
		all[i] = newRecorder()
	}
	var running sync.WaitGroup
	w := plan.window()
	for i, operation := range callers {
		running.Go(func() {
			if err := call(ctx, w, operation, all[i%len(all)]); err != nil {
				cancel(fmt.Errorf("%s, caller %d: %w", plan.Workload, i, err))
			}
		})
	}
	running.Wait()
	if err := context.Cause(ctx); err != nil {
		return nil, err
	}
	return plan.report(w, all...), nil
}

// call is one caller's loop.
func call(ctx context.Context, w window, operation Operation, to *recorder) error {
	for begin := time.Now(); begin.Before(w.to) && ctx.Err() == nil; {
		err := operation(ctx)
		if errors.Is(err, ErrBroken) {
			return err
		}
		end := time.Now()
		if w.has(end) {
			to.record(end.Sub(begin), err)
		}
		begin = end
	}
	return nil
}

// report returns a window's report from the recorders.
func (p Plan) report(w window, all ...*recorder) *report.Report {
	r := &report.Report{
		Workload: p.Workload, Hosts: p.Hosts, Callers: p.Callers, Connections: p.Connections,
		Seconds: w.to.Sub(w.from).Seconds(),
	}
	r.Operations, r.LatencyUS, r.Errors = summary(all)
	r.PerSecond = report.PerSecond(r.Operations, r.Seconds)
	return r
}

// preparing is the number of callers prepared at the same time.
const preparing = 64

// Prepare creates prerequisites for n callers before the measurement, such as sessions, with limited concurrency. It
// returns the first error.
func Prepare[T any](n int, prepare func(i int) (T, error)) ([]T, error) {
	prepared, failed := make([]T, n), make([]error, n)
	room := make(chan struct{}, preparing)
	var running sync.WaitGroup
	for i := range n {
		room <- struct{}{}
		running.Go(func() {
			prepared[i], failed[i] = prepare(i)
			<-room
		})
	}
	running.Wait()
	for i, err := range failed {
		if err != nil {
			return prepared, fmt.Errorf("prepare caller %d of %d: %w", i, n, err)
		}
	}
	return prepared, nil
}

// Exclusion checks that a lock has at most one holder.
type Exclusion struct{ holders atomic.Int32 }

// Cycle is an operation that acquires the lock and releases it.
func (e *Exclusion) Cycle(lock, unlock func(context.Context) error) Operation {
	return func(ctx context.Context) error {
		if err := lock(ctx); err != nil {
			return err
		}
		if n := e.holders.Add(1); n != 1 {
			return fmt.Errorf("%w: one lock has %d holders", ErrBroken, n)
		}
		e.holders.Add(-1)
		return unlock(ctx)
	}
}
