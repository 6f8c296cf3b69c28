package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// seeing is how long watchers may take to see one update.
const seeing = time.Minute

// Feed gives one watcher every event that reaches it, with the number of its update, until the context
// ends. An error of seen ends it.
type Feed func(ctx context.Context, seen func(update int64) error) error

// broadcast is a series of updates that all watchers must see, in order, each once. One update follows
// when everybody has seen the one before, so that what is measured is delivery and not a queue that
// grows.
type broadcast struct {
	watchers int64
	events   atomic.Int64
	seen     atomic.Int64  // how many have seen the update under way
	all      chan struct{} // has room for one; filled by the watcher that sees an update last
}

// Watch makes updates, numbered from 1, and counts the events that watchers are given. An operation is
// an update, and its latency the time until every watcher has seen it.
func Watch(ctx context.Context, plan Plan, feeds []Feed, update func(ctx context.Context, n int64) error) (Result, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(errors.New("the run is over"))
	b := &broadcast{watchers: int64(len(feeds)), all: make(chan struct{}, 1)}
	for i, feed := range feeds {
		running.Go(func() {
			if err := feed(ctx, b.watcher()); ctx.Err() == nil {
				cancel(fmt.Errorf("%s, watcher %d: the feed ended: %w", plan.Workload, i, err))
			}
		})
	}
	w := plan.window()
	counted := make(chan int64, 1)
	running.Go(func() { counted <- b.countEvents(ctx, w) })
	to := newRecorder()
	for n := int64(1); time.Now().Before(w.to); n++ {
		begin := time.Now()
		if err := b.update(ctx, n, update); err != nil {
			return Result{}, err
		}
		if end := time.Now(); w.has(end) {
			to.record(end.Sub(begin), nil)
		}
	}
	r := plan.result(w)
	r.Operations, r.LatencyUS, r.Errors = summary([]*recorder{to})
	r.PerSecond = float64(r.Operations) / r.Seconds
	r.Events = <-counted
	r.EventsPerSecond = float64(r.Events) / r.Seconds
	return r, nil
}

// update makes one update and waits until everybody has seen it.
func (b *broadcast) update(ctx context.Context, n int64, update func(context.Context, int64) error) error {
	ctx, cancel := context.WithTimeoutCause(ctx, seeing,
		fmt.Errorf("%w: not every watcher saw update %d within %v", ErrBroken, n, seeing))
	defer cancel()
	b.seen.Store(0)
	err := update(ctx, n)
	if err == nil {
		select {
		case <-b.all:
			return nil
		case <-ctx.Done():
		}
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("update %d: %w", n, err)
}

// watcher returns what one watcher's feed calls.
func (b *broadcast) watcher() func(n int64) error {
	var last int64
	return func(n int64) error {
		if n != last+1 {
			return fmt.Errorf("%w: a watcher got update %d after update %d", ErrBroken, n, last)
		}
		last = n
		b.events.Add(1)
		if b.seen.Add(1) == b.watchers {
			b.all <- struct{}{}
		}
		return nil
	}
}

// countEvents returns how many events came in the time that is measured.
func (b *broadcast) countEvents(ctx context.Context, w window) int64 {
	await(ctx, w.from)
	before := b.events.Load()
	await(ctx, w.to)
	return b.events.Load() - before
}

func await(ctx context.Context, t time.Time) {
	select {
	case <-time.After(time.Until(t)):
	case <-ctx.Done():
	}
}
