package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/incarnation"
)

// Lease is what a session owns of a semaphore, from the acquire that was granted to the moment at which it
// is released or lost. It is safe for use by many goroutines.
//
// A session has at most one lease of a semaphore: an Acquire of what it owns already changes the lease, and
// returns the same one.
type Lease struct {
	lease   incarnation.Lease
	session *Session
}

// Name returns the name of the semaphore.
func (l *Lease) Name() string { return l.lease.Name() }

// Session returns the id of the session that owns.
func (l *Lease) Session() uint64 { return l.lease.Incarnation().ID() }

// Fence returns the fencing token: the order id under which the session owns. It is larger than those of all
// owners before. Send it along with every write to what the lease protects, and let the receiver refuse
// anything below the highest that it has seen.
func (l *Lease) Fence() uint64 { return l.lease.Order() }

// Count returns how much of the semaphore the lease is for.
func (l *Lease) Count() uint64 { return l.lease.Count() }

// Context returns a context that ends when the lease does: released, lost with its session, or by the
// semaphore's deletion. context.Cause says which: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// It ends before a host may give the lease to another session, as long as this process runs. A process that
// was stopped meanwhile may see it end too late; Err looks at the clock.
func (l *Lease) Context() context.Context { return l.lease.Context() }

// Err returns nil while the lease is held, by the clock of this moment, and the cause of its end after that.
func (l *Lease) Err() error { return l.lease.Err() }

// Release gives the lease back. From the call on it is not held, whatever comes of the call. Where the
// context ends before the host has answered, the release goes on in the background, until it is done or the
// session ends.
//
// It is no error to release twice. Where the lease was lost before, the error is the cause of its end; where only the
// host knew that, it is ErrLeaseLost and ErrFenced.
func (l *Lease) Release(ctx context.Context) error {
	if cause := l.lease.End(); cause != nil {
		if errors.Is(cause, ErrReleased) || errors.Is(cause, ErrSessionClosed) {
			return nil
		}
		return failedName("release", l.Name(), cause)
	}
	ctx, op := l.begin(ctx, OpRelease)
	_, err := l.lease.Incarnation().Release(ctx, l.Name(), l.Fence())
	op.end(err)
	if errors.Is(err, ErrFenced) {
		err = fmt.Errorf("%w: %w", err, ErrLeaseLost)
	}
	return failedName("release", l.Name(), err)
}

// Update replaces the data of the semaphore, if the lease is still held. Otherwise nothing changes, and the error is
// ErrFenced, and the cause of the lease's end too: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// A *SessionEnd without ErrFenced says that the session ended before a host had answered: the outcome is not known.
func (l *Lease) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	c := newUpdateConfig(options)
	if c.lease != nil && c.lease != l {
		return failedName("update", l.Name(), failure.BadRequest("it is guarded by another lease already: this one"))
	}
	if err := l.Err(); err != nil {
		return failedName("update", l.Name(), fmt.Errorf("%w: %w", ErrFenced, err))
	}
	ctx, op := l.begin(ctx, OpUpdate)
	err := l.lease.Incarnation().Update(ctx, l.Name(), data, l.Fence(), c.revision)
	op.end(err)
	if errors.Is(err, ErrFenced) {
		err = fmt.Errorf("%w: %w", err, l.lease.Fenced())
	}
	return failedName("update", l.Name(), err)
}

// begin begins an operation on the semaphore of the lease.
func (l *Lease) begin(ctx context.Context, kind OperationKind) (context.Context, *operation) {
	return l.session.client.begin(ctx, kind, l.session.path, l.Name())
}

// Change gives a part of the lease back, or replaces the data of the owner. What is not given as an option
// stays. A count can only become smaller.
func (l *Lease) Change(ctx context.Context, options ...AcquireOption) error {
	c, err := l.lease.Request()
	for _, o := range options {
		o(&c)
	}
	// An owner does not wait. If the lease is lost meanwhile, nothing must be queued for it.
	c.Timeout, c.OnQueued = 0, nil
	if err = cmp.Or(err, checkAcquire(&c)); err != nil {
		return failedName("change", l.Name(), err)
	}
	ctx, op := l.begin(ctx, OpChange)
	now, err := l.lease.Incarnation().Acquire(ctx, l.Name(), &c)
	if err == nil && now != &l.lease {
		// Another lease was got in its place, or nothing.
		if now != nil {
			_ = now.User().(*Lease).Release(ctx) // it goes on by itself
		}
		err = ErrLeaseLost
	}
	op.end(err)
	return failedName("change", l.Name(), err)
}
