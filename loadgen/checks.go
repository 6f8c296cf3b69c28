package loadgen

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// round tracks a caller's change until every watcher has seen it. A caller has one change in progress at a time.
type round struct {
	// change is the awaited change, 0 for none. Watchers read the field.
	change atomic.Uint64
	left   atomic.Int64
	all    chan struct{} // gets a token when the last watcher has seen the change
}

func newRound() *round { return &round{all: make(chan struct{}, 1)} }

// begin is called before the change is made.
func (r *round) begin(change uint64, watchers int) {
	select {
	case <-r.all: // left by an abandoned change
	default:
	}
	r.left.Store(int64(watchers))
	r.change.Store(change)
}

// saw is called by every watcher, once per change.
func (r *round) saw() {
	if r.left.Add(-1) == 0 {
		select {
		case r.all <- struct{}{}:
		default:
		}
	}
}

// wait waits until all watchers have seen the change. The token in all may be from the previous change, if its last
// watcher reported late.
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

// newAlarm returns an unset timer.
func newAlarm() *time.Timer {
	t := time.NewTimer(time.Hour)
	t.Stop()
	return t
}

// mark writes a number into a change's data, to identify the change.
func mark(data []byte, n uint64) { binary.BigEndian.PutUint64(data, n) }

// markOf reads the number; 0 for data without a number.
func markOf(data []byte) uint64 {
	if len(data) < minMark {
		return 0
	}
	return binary.BigEndian.Uint64(data)
}

// marked returns data with the given size and number.
func marked(size int, n uint64) []byte {
	data := make([]byte, max(size, minMark))
	mark(data, n)
	return data
}

// holders counts the callers that believe they hold units of a semaphore. All callers are goroutines in this process,
// so holders detects a fault that hosts cannot see: too many callers with this belief at once.
type holders struct {
	name    string
	limit   int64
	now     atomic.Int64
	highest atomic.Uint64 // latest fence
}

// add is called by a caller when the semaphore is granted, before the caller does anything else.
func (h *holders) add(fence uint64) error {
	if n := h.now.Add(1); n > h.limit {
		return fmt.Errorf("semaphore %q has a limit of %d, and %d believe to own it", h.name, h.limit, n)
	}
	// With several holders at once, the order in which they were granted is unknown.
	if h.limit == 1 {
		return after(h.name, h.highest.Swap(fence), fence)
	}
	return nil
}

// remove is called by a caller about to release.
func (h *holders) remove() { h.now.Add(-1) }

// after checks that a fence is above the previous fence.
func after(name string, before, fence uint64) error {
	if fence <= before {
		return fmt.Errorf("semaphore %q was granted under the fence %d after %d: fences must grow", name, fence, before)
	}
	return nil
}

// violations are violated guarantees.
type violations struct {
	mu    sync.Mutex // guards the next fields
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

// list returns the violations' texts, and the number of violations beyond maxViolations.
func (v *violations) list() []string {
	v.mu.Lock()
	defer v.mu.Unlock()
	list := append([]string(nil), v.texts...)
	if v.more > 0 {
		list = append(list, fmt.Sprintf("and %d more", v.more))
	}
	return list
}
