package loadgen

import (
	"fmt"
	"sync/atomic"
)

// turnstile counts who is inside: who believes to own a part of a semaphore. All callers are goroutines of
// this process, so it sees what no host can: two that believe so at the same moment.
type turnstile struct {
	name    string
	limit   int64
	inside  atomic.Int64
	highest atomic.Uint64 // the fence of the latest who came in
}

// enter is called by who was granted the semaphore, before anything else.
func (t *turnstile) enter(fence uint64) error {
	if n := t.inside.Add(1); n > t.limit {
		return fmt.Errorf("semaphore %q has a limit of %d, and %d believe to own it", t.name, t.limit, n)
	}
	// Of several who are inside together, nobody knows who came first.
	if t.limit == 1 {
		return after(t.name, t.highest.Swap(fence), fence)
	}
	return nil
}

// leave is called by who is about to release.
func (t *turnstile) leave() { t.inside.Add(-1) }

// after checks that a fence is above the one before it.
func after(name string, before, fence uint64) error {
	if fence <= before {
		return fmt.Errorf("semaphore %q was granted under the fence %d after %d: fences must grow", name, fence, before)
	}
	return nil
}
