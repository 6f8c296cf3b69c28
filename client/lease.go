package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/session"
)

// Lease represents semaphore units that a session owns, from the grant until the lease is released or lost. A Lease is
// safe for concurrent use.
//
// A session has at most one lease per semaphore: an Acquire by the owner changes the lease and returns the existing
// *Lease.
type Lease struct {
	lease   session.Lease
	session *Session
}

// Name returns the semaphore name.
func (l *Lease) Name() string { return l.lease.Name }

// Session returns the owning session's id.
func (l *Lease) Session() uint64 { return l.lease.In.ID() }

// Fence returns the fencing token: the order id under which the session owns the units. The token is larger than all
// earlier owners' tokens. Send the token with every write to the data that the lease protects, and let the receiver
// reject every token below the highest seen so far.
func (l *Lease) Fence() uint64 { return l.lease.Order }

// Count returns the number of leased units.
func (l *Lease) Count() uint64 { return l.lease.Count() }

// Context returns a context that ends with the lease: by a release, by the loss of the session, or by the semaphore's
// deletion. context.Cause returns the reason: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// While this process runs, the context ends before a host may give the lease to another session. A paused process may
// see the end too late; Err checks the clock.
func (l *Lease) Context() context.Context { return l.lease.Context() }

// Err checks the clock. It returns nil while the lease is held, and the reason for the lease's end afterwards.
func (l *Lease) Err() error { return l.lease.Err() }

// Release gives the lease back. From the call on the lease is not held, even if the call fails. If the context ends
// before the host has answered, the release goes on in the background, until it is done or the session ends.
//
// A second release is no error. If the lease was lost before, the error is the cause of the loss; if only the host
// knew of the loss, the error is ErrLeaseLost and ErrFenced.
func (l *Lease) Release(ctx context.Context) error {
	if cause := l.lease.End(); cause != nil {
		if errors.Is(cause, ErrReleased) || errors.Is(cause, ErrSessionClosed) {
			return nil
		}
		return failedName("release", l.Name(), cause)
	}
	ctx, op := l.session.client.begin(ctx, OpRelease, l.session.path, l.lease.Name)
	_, err := l.lease.In.Release(ctx, l.lease.Name, l.lease.Order)
	op.end(err)
	if errors.Is(err, ErrFenced) {
		err = fmt.Errorf("%w: %w", err, ErrLeaseLost)
	}
	return failedName("release", l.lease.Name, err)
}

// Update replaces the semaphore's data if the lease is still held. Otherwise nothing changes, and the error matches
// both ErrFenced and the reason for the lease's end: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// A *SessionEnd without ErrFenced means that the session ended before a host answered, so the outcome is unknown.
func (l *Lease) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	c := newUpdateConfig(options)
	if c.lease != nil && c.lease != l {
		return failedName("update", l.Name(), failure.BadRequest("already guarded by another lease"))
	}
	if err := l.Err(); err != nil {
		return failedName("update", l.Name(), fmt.Errorf("%w: %w", ErrFenced, err))
	}
	ctx, op := l.session.client.begin(ctx, OpUpdate, l.session.path, l.lease.Name)
	err := l.lease.In.Update(ctx, l.Name(), data, l.Fence(), c.revision)
	op.end(err)
	if errors.Is(err, ErrFenced) {
		err = fmt.Errorf("%w: %w", err, l.lease.Fenced())
	}
	return failedName("update", l.Name(), err)
}

// Change gives back some leased units or replaces the owner's data. Fields without an option do not change. The count
// can only shrink.
func (l *Lease) Change(ctx context.Context, options ...AcquireOption) error {
	c, err := l.lease.Request()
	for _, o := range options {
		o(&c)
	}
	// An owner does not wait. If the lease is lost meanwhile, the acquire must not join the queue.
	c.Timeout, c.OnQueued = 0, nil
	if err = cmp.Or(err, c.Check()); err != nil {
		return failedName("change", l.Name(), err)
	}
	ctx, op := l.session.client.begin(ctx, OpChange, l.session.path, l.lease.Name)
	now, err := l.lease.In.Acquire(ctx, l.Name(), &c)
	if err == nil && now != &l.lease {
		// The acquire got a new lease in place of the lost lease, or nothing.
		if now != nil {
			_ = now.User.(*Lease).Release(ctx) // goes on by itself
		}
		err = ErrLeaseLost
	}
	op.end(err)
	return failedName("change", l.Name(), err)
}
