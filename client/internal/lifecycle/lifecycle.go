// Package lifecycle stops everything that a client starts: goroutines and connections end with their Scope. The package
// also has the client's clock, which counts leases.
package lifecycle

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// Suspension returns for how long the machine was suspended since it started. Tests replace it.
var Suspension = suspension

// ErrClosed is the cause with which a Scope ends.
var ErrClosed = errors.New("the client is closed")

// Scope is what a client's goroutines run in. It is safe for use by many goroutines; its lock is the last in every
// order of locks.
type Scope struct {
	clock   clock
	ctx     context.Context // ends when the client is closed
	stop    context.CancelCauseFunc
	closing atomic.Bool // nothing new may begin

	mu     sync.Mutex // guards what follows
	closed bool       // no goroutine may start
	work   sync.WaitGroup
}

// New returns a Scope whose clock begins now.
func New() *Scope {
	s := &Scope{}
	s.clock.init(Suspension)
	s.ctx, s.stop = context.WithCancelCause(context.Background())
	return s
}

// Context ends with the Scope, with ErrClosed as its cause.
func (s *Scope) Context() context.Context { return s.ctx }

// Refuse makes Usable fail: what runs goes on, and nothing new begins.
func (s *Scope) Refuse() { s.closing.Store(true) }

// Usable returns ErrClosed where nothing new may begin.
func (s *Scope) Usable() error {
	if s.closing.Load() {
		return ErrClosed
	}
	return nil
}

// Go runs a function on a goroutine that End waits for. It returns false, and does not run it, where the Scope has
// ended.
func (s *Scope) Go(f func()) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.work.Go(f)
	return true
}

// End ends the context and waits until all goroutines of the Scope have ended.
func (s *Scope) End() {
	s.Refuse()
	s.stop(ErrClosed)
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.work.Wait()
}

// Now returns the present moment of the client's clock, counted from the making of the Scope.
func (s *Scope) Now() Instant { return s.clock.now() }

// Suspended returns for how long the machine was suspended since the making of the Scope, as of the latest Now. Timers
// stand still meanwhile: what waits for one has to look again when Suspended has grown.
func (s *Scope) Suspended() time.Duration { return time.Duration(s.clock.suspended.Load()) }
