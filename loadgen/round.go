package loadgen

import (
	"context"
	"fmt"
	"sync/atomic"
	"time"
)

// round follows one change of one caller until everybody who watches has seen it. A caller has one change
// under way at a time.
type round struct {
	// change is what is being looked for; 0 while nothing is. Watchers read it.
	change atomic.Uint64
	left   atomic.Int64
	all    chan struct{} // the last one has seen it; holds one
}

func newRound() *round { return &round{all: make(chan struct{}, 1)} }

// begin is called before the change is made.
func (r *round) begin(change uint64, watchers int) {
	select {
	case <-r.all: // of a change that was given up
	default:
	}
	r.left.Store(int64(watchers))
	r.change.Store(change)
}

// saw is called by each watcher, once for each change.
func (r *round) saw() {
	if r.left.Add(-1) == 0 {
		select {
		case r.all <- struct{}{}:
		default:
		}
	}
}

// wait waits until all have seen the change. What all holds may be of the one before, whose last watcher was slow to say so.
func (r *round) wait(ctx context.Context, alarm *time.Timer) error {
	alarm.Reset(patience)
	defer alarm.Stop()
	for r.left.Load() > 0 {
		select {
		case <-r.all:
		case <-alarm.C:
			return fmt.Errorf("%w: %d are missing after %v", errNotSeen, r.left.Load(), patience)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

// newAlarm returns a timer that is not set.
func newAlarm() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}
