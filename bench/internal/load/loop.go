package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"
)

// Plan is what one run of a workload does.
type Plan struct {
	Workload    string
	Hosts       int
	Callers     int
	Connections int
	Watchers    int
	Warmup      time.Duration // runs before what is measured
	Duration    time.Duration // what is measured
}

// Operation is what one caller does again and again, one at a time.
type Operation func(ctx context.Context) error

// ErrBroken is wrapped by the error of an operation that found its peer to break a promise, such as two
// holders of one lock. It ends the run: the figures of a broken service mean nothing.
var ErrBroken = errors.New("the service broke a promise")

// window is the part of a run that is measured.
type window struct{ from, to time.Time }

func (p Plan) window() window {
	from := time.Now().Add(p.Warmup)
	return window{from, from.Add(p.Duration)}
}

func (w window) has(t time.Time) bool { return !t.Before(w.from) && t.Before(w.to) }

// Loop has every caller do its operation until the plan's time is over. What ends within the time that
// is measured counts.
func Loop(ctx context.Context, plan Plan, callers []Operation) (Result, error) {
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
		return Result{}, err
	}
	r := plan.result(w)
	r.Operations, r.LatencyUS, r.Errors = summary(all)
	r.PerSecond = float64(r.Operations) / r.Seconds
	return r, nil
}

// call is the loop of one caller.
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

func (p Plan) result(w window) Result {
	return Result{
		Workload: p.Workload, Hosts: p.Hosts, Callers: p.Callers, Connections: p.Connections,
		Seconds: w.to.Sub(w.from).Seconds(),
	}
}
