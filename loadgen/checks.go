package loadgen

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// round follows one change of one caller until every watcher has seen it. A caller has one change
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

// wait waits until all have seen the change. What all holds may be of the one before, whose last watcher was slow to
// say so.
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

// mark writes a number into the data of a change: the data shows which change it was.
func mark(data []byte, n uint64) { binary.BigEndian.PutUint64(data, n) }

// markOf reads it; 0 where there is none.
func markOf(data []byte) uint64 {
	if len(data) < minMark {
		return 0
	}
	return binary.BigEndian.Uint64(data)
}

// marked returns data of a size with a number in it.
func marked(size int, n uint64) []byte {
	data := make([]byte, max(size, minMark))
	mark(data, n)
	return data
}

// holders counts the callers that believe to own a part of a semaphore. All callers are goroutines of this process, so
// it sees what no host can: two that believe so at the same moment.
type holders struct {
	name    string
	limit   int64
	now     atomic.Int64
	highest atomic.Uint64 // the fence of the latest
}

// add is called by a caller that was granted the semaphore, before anything else.
func (h *holders) add(fence uint64) error {
	if n := h.now.Add(1); n > h.limit {
		return fmt.Errorf("semaphore %q has a limit of %d, and %d believe to own it", h.name, h.limit, n)
	}
	// Of several holders at once it is not known which was granted first.
	if h.limit == 1 {
		return after(h.name, h.highest.Swap(fence), fence)
	}
	return nil
}

// remove is called by a caller that is about to release.
func (h *holders) remove() { h.now.Add(-1) }

// after checks that a fence is above the one before it.
func after(name string, before, fence uint64) error {
	if fence <= before {
		return fmt.Errorf("semaphore %q was granted under the fence %d after %d: fences must grow", name, fence, before)
	}
	return nil
}

// violations are promises that did not hold.
type violations struct {
	mu    sync.Mutex // guards what follows
	texts []string
	more  int
}

func (v *violations) add(err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.texts) == maxViolations {
		v.more++
		return
	}
	v.texts = append(v.texts, err.Error())
}

func (v *violations) addf(format string, args ...any) { v.add(fmt.Errorf(format, args...)) }

func (v *violations) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := append([]string(nil), v.texts...)
	if v.more > 0 {
		list = append(list, fmt.Sprintf("and %d more", v.more))
	}
	return list
}
