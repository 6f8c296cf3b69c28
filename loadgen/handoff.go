package loadgen

import (
	"cmp"
	"context"
	"runtime"
	"time"

	"github.com/signalbox/signalbox/client"
)

var handoffKind = &kind{
	Info: Info{
		Name:      "handoff",
		Summary:   "all callers contend for a single semaphore with limit 1: measures the handover speed",
		Operation: "a turn: wait in the queue, own, release",
		Checks:    "a single owner at a time; every owner's fence is above the previous owner's fence",
		Settings:  []string{"hold"},
	},
	make: func() workload { return &contention{kind: "handoff", limit: 1} }, mixes: true,
	defaults: func(c *Config) { orElse(&c.Callers, 32) },
}

var countingKind = &kind{
	Info: Info{
		Name:      "counting",
		Summary:   "all callers contend for units of a semaphore with capacity for a few owners",
		Operation: "a turn: wait in the queue, own, release",
		Checks:    "never more owners than the limit; every caller's fences increase",
		Settings:  []string{"limit", "hold"},
	},
	make: func() workload { return &contention{kind: "counting"} }, mixes: true,
}

// contention is many callers that contend for a single semaphore.
type contention struct {
	*stages
	kind     string
	limit    int // 0 for the config's limit
	run      *run
	sessions []*client.Session
	holders  holders
}

// prepare starts a session for every caller, and creates the semaphore.
func (c *contention) prepare(ctx context.Context, r *run) (err error) {
	c.run, c.stages = r, newStages(r.config.Callers, "acquire", "release")
	limit := cmp.Or(c.limit, r.config.Limit)
	c.holders.name, c.holders.limit = r.name(c.kind, 0), int64(limit)
	if c.sessions, err = r.sessions(ctx, r.config.Callers); err != nil {
		return err
	}
	return r.create(ctx, c.kind, 1, uint64(limit), nil)
}

// caller acquires, checks and releases the semaphore. Fences must increase both for the caller and among all holders.
func (c *contention) caller(i int) operation {
	x := c.sessions[i].Semaphore(c.holders.name)
	mine := uint64(0)
	return func(ctx context.Context) error {
		began := time.Now()
		lease, err := x.Acquire(ctx)
		if err != nil {
			return err
		}
		c.stages.since(began, i, 0)
		fence := lease.Fence()
		if err := c.holders.add(fence); err != nil {
			c.run.broken.add(err)
		}
		if err := after(x.Name(), mine, fence); err != nil {
			c.run.broken.add(err)
		}
		mine = fence
		c.hold(ctx, lease)
		c.holders.remove()
		began = time.Now()
		if err = lease.Release(ctx); err == nil {
			c.stages.since(began, i, 1)
		}
		return err
	}
}

// hold keeps the semaphore for the configured time, or until it is lost. hold lasts at least until callers with a
// faulty simultaneous grant have had a chance to run and be detected.
func (c *contention) hold(ctx context.Context, lease *client.Lease) {
	d := c.run.config.Hold
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

func (c *contention) check(ctx context.Context) error { return c.run.free(ctx, c.kind) }
