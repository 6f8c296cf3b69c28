package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/session"
)

// Lease is the part of a semaphore that a session owns, from the acquire that was granted to the moment at which the
// lease is released or lost. It is safe for use by many goroutines.
//
// A session has at most one lease of a semaphore: an Acquire by the owner changes the lease, and returns the existing
// *Lease.
type Lease struct {
	lease   session.Lease
	session *Session
}

// Name returns the name of the semaphore.
func (l *Lease) Name() string { return l.lease.Name }

// Session returns the id of the session that owns.
func (l *Lease) Session() uint64 { return l.lease.In.ID() }

// Fence returns the fencing token: the order id under which the session owns. The token is larger than the tokens of
// all owners before. Send it along with every write to the data that the lease protects, and let the receiver refuse
// every token below the highest seen so far.
func (l *Lease) Fence() uint64 { return l.lease.Order }

// Count returns how much of the semaphore the lease is for.
func (l *Lease) Count() uint64 { return l.lease.Count() }

// Context returns a context that ends with the lease: by a release, by the loss of the session, or by the semaphore's
// deletion. context.Cause says which: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// The context ends before a host may give the lease to another session, as long as this process runs. A process that
// was stopped meanwhile may see the end too late; Err looks at the clock.
func (l *Lease) Context() context.Context { return l.lease.Context() }

// Err returns nil while the lease is held, by the clock of this moment, and the cause of the lease's end afterwards.
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

// Update replaces the data of the semaphore, if the lease is still held. Otherwise nothing changes, and the error is
// ErrFenced together with the cause of the lease's end: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// A *SessionEnd without ErrFenced says that the session ended before a host had answered: the outcome is not known.
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

// Change gives a part of the lease back, or replaces the data of the owner. Fields without an option stay as they are.
// A count can only become smaller.
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
		// The acquire got a new lease in the place of the lost lease, or nothing.
		if now != nil {
			_ = now.User.(*Lease).Release(ctx) // goes on by itself
		}
		err = ErrLeaseLost
	}
	op.end(err)
	return failedName("change", l.Name(), err)
}
