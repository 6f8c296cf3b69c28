package failover

import (
	"context"
	"maps"
	"slices"
	"sync"
	"time"
)

// afterFailure is how long a caller rests when an attempt has failed, as programs do.
const afterFailure = 10 * time.Millisecond

// Caller locks and unlocks its own lock. One goroutine calls its functions. A failed attempt is repeated: Unlock until
// success.
type Caller struct{ Lock, Unlock func(context.Context) error }

// workers is the callers at work.
type workers struct {
	callers []Caller
	cancel  context.CancelCauseFunc
	running sync.WaitGroup

	mu     sync.Mutex
	failed map[string]int64 // attempts, by the text of the error
	mark   *mark            // nil without a wait
}

// mark waits for every caller's first lock requested after a moment.
type mark struct {
	after    time.Time
	locked   []time.Time // each caller's grant time; zero for not yet
	left     int
	complete chan struct{} // closed when all callers have a lock
}

func newWorkers(callers []Caller) *workers {
	return &workers{callers: callers, failed: make(map[string]int64)}
}

func (w *workers) start(ctx context.Context) {
	ctx, w.cancel = context.WithCancelCause(ctx)
	for i := range w.callers {
		w.running.Go(func() { w.call(ctx, i) })
	}
}

// stop ends the callers. Later failures do not count.
func (w *workers) stop() {
	w.cancel(ErrEnded)
	w.running.Wait()
}

// call is one caller's loop.
func (w *workers) call(ctx context.Context, i int) {
	for ctx.Err() == nil {
		asked := time.Now()
		if !w.attempt(ctx, w.callers[i].Lock) {
			continue
		}
		w.note(i, asked)
		for ctx.Err() == nil && !w.attempt(ctx, w.callers[i].Unlock) {
		}
	}
}

// attempt reports an attempt's success. It counts a failure and pauses after it.
func (w *workers) attempt(ctx context.Context, do func(context.Context) error) bool {
	err := do(ctx)
	if err == nil || ctx.Err() != nil {
		return err == nil
	}
	w.mu.Lock()
	w.failed[err.Error()]++
	w.mu.Unlock()
	select {
	case <-time.After(afterFailure):
	case <-ctx.Done():
	}
	return false
}

// note records a caller's grant for a lock requested at a time.
func (w *workers) note(i int, asked time.Time) {
	now := time.Now()
	w.mu.Lock()
	defer w.mu.Unlock()
	m := w.mark
	if m == nil || !m.locked[i].IsZero() || !asked.After(m.after) {
		return
	}
	m.locked[i] = now
	if m.left--; m.left == 0 {
		close(m.complete)
		w.mark = nil
	}
}

// acquired waits until every caller has a lock requested after a time, and returns the grant times.
func (w *workers) acquired(ctx context.Context, after time.Time) ([]time.Time, error) {
	m := &mark{
		after: after, locked: make([]time.Time, len(w.callers)), left: len(w.callers), complete: make(chan struct{}),
	}
	w.mu.Lock()
	w.mark = m
	w.mu.Unlock()
	select {
	case <-m.complete:
		return slices.Clone(m.locked), nil
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// failures returns the numbers of failed attempts by error.
func (w *workers) failures() map[string]int64 {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.failed)
}
