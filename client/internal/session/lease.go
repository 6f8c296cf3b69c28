package session

import (
	"context"

	"github.com/signalbox/signalbox/client/internal/failure"
)

// Lease represents semaphore units that a session owns, from the grant until the lease is released or lost.
type Lease struct {
	// These fields do not change after the grant.
	In    *Incarnation // owning session
	User  any          // contains the lease, for the user
	Name  string       // of the semaphore
	Order uint64       // order id under which the session owns the units

	// Guarded by the incarnation's lock.
	number    uint64 // from the latest acquire
	count     uint64
	data      []byte
	ephemeral bool
	missing   bool  // missing in the shard's latest list
	cause     error // why the lease ended; nil while held
	ctx       context.Context
	cancel    context.CancelCauseFunc
}

// Count returns the number of leased units.
func (l *Lease) Count() uint64 {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	return l.count
}

// Request returns an acquire that changes nothing and does not wait. The error is the reason why the lease ended, nil
// while it is held.
func (l *Lease) Request() (Request, error) {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	return Request{Count: l.count, Data: l.data, Ephemeral: l.ephemeral}, l.err()
}

// Context returns a context that ends with the lease, with the reason as its cause.
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

// Err checks the clock. It returns nil while the lease is held, and the reason for the lease's end afterwards.
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

// End ends the lease for its user, with failure.ErrReleased. If the lease was already over, End returns the reason.
// Otherwise End returns nil, and the caller must release the lease at its host.
func (l *Lease) End() (cause error) {
	l.In.mu.Lock()
	defer l.In.mu.Unlock()
	if cause = l.err(); cause == nil {
		l.lose(failure.ErrReleased)
	}
	return cause
}

// Fenced ends the lease because a host reported that the session owns nothing under the lease's order id. Fenced
// returns the reason for the end.
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

// lose ends the lease. The incarnation's lock is held.
func (l *Lease) lose(cause error) {
	if l.cause != nil {
		return
	}
	l.cause = cause
	if l.cancel != nil {
		l.cancel(cause)
	}
}
