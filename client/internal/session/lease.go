package session

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/failure"
)

// Lease is the part of a semaphore that a session owns, from the acquire that was granted to the moment at which the
// lease is released or lost.
type Lease struct {
	// These fields stay as they are from the grant on.
	In    *Incarnation // the session that owns
	User  any          // contains the lease, for the user
	Name  string       // of the semaphore
	Order uint64       // the order id under which the session owns

	// Guarded by the lock of the incarnation.
	number    uint64 // of the latest acquire
	count     uint64
	data      []byte
	ephemeral bool
	missing   bool  // the shard did not list the lease when it was asked last
	cause     error // why the lease is over; nil while it is held
	ctx       context.Context
	cancel    context.CancelCauseFunc
}

// Count returns how much of the semaphore the lease is for.
func (l *Lease) Count() uint64 {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	return l.count
}

// Request returns an acquire that changes nothing and does not wait, and why the lease is over, nil while it is held.
func (l *Lease) Request() (Request, error) {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	return Request{Count: l.count, Data: l.data, Ephemeral: l.ephemeral}, l.err()
}

// Context returns a context that ends when the lease does, with the cause of the lease's end.
func (l *Lease) Context() context.Context {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.cancel = context.WithCancelCause(context.Background())
		if l.cause != nil {
			l.cancel(l.cause)
		}
	}
	return l.ctx
}

// Err returns nil while the lease is held, by the clock of this moment, and the cause of the lease's end afterwards.
func (l *Lease) Err() error {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	return l.err()
}

// err is Err with the lock held.
func (l *Lease) err() error {
	l.In.alive() // ends the leases if the deadline has passed
	return l.cause
}

// End ends the lease for its user, with failure.ErrReleased. It returns why the lease was over before, or nil if the
// lease was held; then the caller releases the lease at its host.
func (l *Lease) End() (cause error) {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	if cause = l.err(); cause == nil {
		l.lose(failure.ErrReleased)
	}
	return cause
}

// Fenced ends the lease, because a host has answered that the session does not own under the lease's order id. Fenced
// returns the cause of the end.
func (l *Lease) Fenced() error {
	in := l.In
	in.mu.Lock()
	defer in.mu.Unlock()
	l.lose(failure.ErrLeaseLost)
	if q := in.queues[l.Name]; q != nil && q.lease == l {
		q.lease = nil
		in.dropIfEmpty(q)
	}
	return l.cause
}

// lose ends the lease. The lock of the incarnation is held.
func (l *Lease) lose(cause error) {
	if l.cause != nil {
		return
	}
	l.cause = cause
	if l.cancel != nil {
		l.cancel(cause)
	}
}
