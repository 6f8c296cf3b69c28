// Package lifecycle stops everything that a client starts: goroutines and connections end with their Scope. The package
// also has the client's lease clock.
package lifecycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Suspension returns how long the machine has been suspended since boot. Tests replace it.
var Suspension = suspension

// ErrClosed is the cause with which a Scope ends.
var ErrClosed = errors.New("the client is closed")

// Scope contains a client's goroutines. A Scope is safe for concurrent use; its lock is the last in every lock order.
type Scope struct {
	clock   clock
	ctx     context.Context // ends when the client is closed
	stop    context.CancelCauseFunc
	closing atomic.Bool // nothing new may begin

	mu     sync.Mutex // guards what follows
	closed bool       // no goroutine may start
	work   sync.WaitGroup
}

// New returns a Scope whose clock starts now.
func New() *Scope {
	s := &Scope{}
	s.clock.init(Suspension)
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Context ends with the Scope, with cause ErrClosed.
func (s *Scope) Context() context.Context { return s.ctx }

// Refuse makes Usable fail: running work continues, and new work is rejected.
func (s *Scope) Refuse() { s.closing.Store(true) }

// Usable returns ErrClosed if new work is rejected.
func (s *Scope) Usable() error {
	if s.closing.Load() {
		return ErrClosed
	}
	return nil
}

// Go runs a function in a goroutine that End waits for. If the Scope has ended, Go returns false without running the
// function.
func (s *Scope) Go(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// End ends the context and waits until all goroutines in the Scope have ended.
func (s *Scope) End() {
	s.Refuse()
	s.stop(ErrClosed)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
}

// Now returns the client's clock, counted from the Scope's creation.
func (s *Scope) Now() Instant { return s.clock.now() }

// Suspended returns how long the machine has been suspended since the Scope's creation, as of the latest Now. Timers
// stop during suspension, so code that waits for a timer must check again when Suspended has grown.
func (s *Scope) Suspended() time.Duration { return time.Duration(s.clock.suspended.Load()) }
