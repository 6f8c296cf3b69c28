package loadgen

import (
	"context"
	"runtime"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/loadgen/report"
)

var handoffKind = &kind{
	Info: Info{
		Name:      "handoff",
		Summary:   "all callers want one semaphore with a limit of 1: how fast it goes from one to the next",
		Operation: "one turn: waiting in the queue, owning, releasing",
		Checks:    "that no two own it at once, that the fence of each owner is above that of the one before",
		Settings:  []string{"hold"},
	},
	make: func() workload { return &contention{kind: "handoff", limit: 1} }, mixes: true,
	defaults: func(c *Config) { orElse(&c.Callers, 32) },
}

var countingKind = &kind{
	Info: Info{
		Name:      "counting",
		Summary:   "all callers want a part of one semaphore that has room for a few",
		Operation: "one turn: waiting in the queue, owning, releasing",
		Checks:    "that never more than the limit own it at once, that each caller's fences grow",
		Settings:  []string{"limit", "hold"},
	},
	make: func() workload { return &contention{kind: "counting"} }, mixes: true,
}

// contention is many who want one semaphore.
type contention struct {
	kind      string
	limit     int // 0 for that of the config
	run       *run
	sessions  []*client.Session
	turnstile turnstile
	stages    *stages
}

func (w *contention) prepare(ctx context.Context, r *run) (err error) {
	w.run, w.stages = r, newStages(r.config.Callers, "acquire", "release")
	limit := max(w.limit, 1)
	if w.limit == 0 {
		limit = r.config.Limit
	}
	w.turnstile.name, w.turnstile.limit = r.name(w.kind, 0), int64(limit)
	if w.sessions, err = r.sessions(ctx, r.config.Callers); err != nil {
		return err
	}
	return r.create(ctx, w.kind, 1, uint64(limit), nil)
}

func (w *contention) caller(i int) operation {
	x := w.sessions[i].Semaphore(w.turnstile.name)
	mine := uint64(0)
	return func(ctx context.Context) error {
		began := time.Now()
		lease, err := x.Acquire(ctx)
		if err != nil {
			return err
		}
		w.stages.since(began, i, 0)
		fence := lease.Fence()
		if err := w.turnstile.enter(fence); err != nil {
			w.run.broken.add(err)
		}
		if err := after(x.Name(), mine, fence); err != nil {
			w.run.broken.add(err)
		}
		mine = fence
		w.hold(ctx, lease)
		w.turnstile.leave()
		began = time.Now()
		if err = lease.Release(ctx); err == nil {
			w.stages.since(began, i, 1)
		}
		return err
	}
}

func (w *contention) begin()                   { w.stages.begin() }
func (w *contention) report(to *report.Report) { w.stages.report(to) }

// hold keeps the semaphore: for as long as the config says, or until it is lost, but at least until other callers
// that may have been granted it as well had a chance to come in and be seen.
func (w *contention) hold(ctx context.Context, lease *client.Lease) {
	d := w.run.config.Hold
	if d == 0 {
		runtime.Gosched()
		return
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-lease.Context().Done():
	case <-ctx.Done():
	}
}

func (w *contention) check(ctx context.Context) error { return w.run.free(ctx, w.kind) }
