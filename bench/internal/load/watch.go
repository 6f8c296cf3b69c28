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

// seeing bounds the watchers' time to see one update.
const seeing = time.Minute

// Subscription calls seen for every event at one watcher, with its update's number, until the context ends. An error
// from seen ends the subscription.
type Subscription func(ctx context.Context, seen func(update int64) error) error

// broadcast is a series of updates that all watchers must see in order, each once. The next update follows after every
// watcher has seen the previous one, so the result measures delivery, not a growing queue.
type broadcast struct {
	watchers int64
	events   atomic.Int64
	seen     atomic.Int64  // how many have seen the update under way
	all      chan struct{} // has room for one; filled by the last watcher to see an update
}

// Watch makes updates, numbered from 1, and counts the watchers' events. An operation is an update; its latency ends
// when every watcher has seen the update.
func Watch(ctx context.Context, plan Plan, subscriptions []Subscription,
	update func(ctx context.Context, n int64) error,
) (*report.Report, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel(errors.New("the run is over"))
	b := &broadcast{watchers: int64(len(subscriptions)), all: make(chan struct{}, 1)}
	for i, subscription := range subscriptions {
		running.Go(func() {
			if err := subscription(ctx, b.watcher()); ctx.Err() == nil {
				cancel(fmt.Errorf("%s, watcher %d: the subscription ended: %w", plan.Workload, i, err))
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
			return nil, err
		}
		if end := time.Now(); w.has(end) {
			to.record(end.Sub(begin), nil)
		}
	}
	r := plan.report(w, to)
	r.AddEvents(<-counted)
	return r, nil
}

// update makes one update and waits until every watcher has seen it.
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

// watcher returns the function for one watcher's subscription.
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

// countEvents returns the number of events in the measured time.
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
