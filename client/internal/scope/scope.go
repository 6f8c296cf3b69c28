// Package scope bounds what a client starts: its goroutines and connections end with its Scope. It has the client's
// clock too, by which leases are counted.
package scope

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"
)

// ErrClosed is the cause with which a Scope ends.
var ErrClosed = errors.New("the client is closed")

// Scope is what a client's goroutines run in. It is safe for use by many goroutines; its lock is the last in every
// order of locks.
type Scope struct {
	epoch   time.Time
	ctx     context.Context // ends when the client is closed
	stop    context.CancelCauseFunc
	closing atomic.Bool // nothing new may begin

	mu     sync.Mutex // guards what follows
	closed bool       // no goroutine may start
	work   sync.WaitGroup
}

// New returns a Scope whose clock begins now.
func New() *Scope {
	s := &Scope{epoch: time.Now()}
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

// Instant is a moment of the client's own monotonic clock. Leases are computed with nothing else: no wall clock, and
// none of another machine.
type Instant time.Duration

// Now returns the present moment, counted from the making of the Scope.
func (s *Scope) Now() Instant { return Instant(time.Since(s.epoch)) }

// Add returns the moment that is d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from u to t.
func (i Instant) Sub(u Instant) time.Duration { return time.Duration(i - u) }
