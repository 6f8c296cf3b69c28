package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/protocol"
)

// Lease is what a session owns of a semaphore, from the acquire that was granted to the moment at which it
// is released or lost. It is safe for use by many goroutines.
//
// A session has at most one lease of a semaphore: an Acquire of what it owns already changes the lease, and
// returns the same one.
type Lease struct {
	life *life
	name string
	// order is the fencing token.
	order uint64

	// Guarded by the lock of the life.
	number    uint64 // of the latest acquire
	count     uint64
	data      []byte
	ephemeral bool
	cause     error // why it is over; nil while it is held
	ctx       context.Context
	end       context.CancelCauseFunc
}

// Name returns the name of the semaphore.
func (l *Lease) Name() string { return l.name }

// Session returns the id of the session that owns.
func (l *Lease) Session() uint64 { return l.life.id }

// Fence returns the fencing token: the order id under which the session owns. It is larger than those of all
// owners before. Send it along with every write to what the lease protects, and let the receiver refuse
// anything below the highest that it has seen.
func (l *Lease) Fence() uint64 { return l.order }

// Count returns how much of the semaphore the lease is for.
func (l *Lease) Count() uint64 {
	l.life.mu.Lock()
	defer l.life.mu.Unlock()
	return l.count
}

// Context returns a context that ends when the lease does: released, lost with its session, or by the
// semaphore's deletion. context.Cause tells which: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// It ends before a host may give the lease to somebody else, as long as this process runs. A process that
// was stopped meanwhile may see it end too late; Err looks at the clock.
func (l *Lease) Context() context.Context {
	l.life.mu.Lock()
	defer l.life.mu.Unlock()
	if l.ctx == nil {
		l.ctx, l.end = context.WithCancelCause(context.Background())
		if l.cause != nil {
			l.end(l.cause)
		}
	}
	return l.ctx
}

// Err returns nil while the lease is held, by the clock of this moment, and the cause of its end after that.
func (l *Lease) Err() error {
	x := l.life
	x.mu.Lock()
	defer x.mu.Unlock()
	x.aliveLocked() // ends the leases if it is time
	return l.cause
}

// lose ends the lease. The lock of the life is held.
func (l *Lease) lose(cause error) {
	if l.cause != nil {
		return
	}
	l.cause = cause
	if l.end != nil {
		l.end(cause)
	}
}

// Release gives the lease back. From the call on it is not held, whatever comes of the call. Where the
// context ends before the host has answered, the release goes on in the background, until it is done or the
// session ends.
//
// It is no error to release twice. Where the lease was lost before, the error is the cause of its end; where only the
// host knew that, it is ErrLeaseLost and ErrFenced.
func (l *Lease) Release(ctx context.Context) error {
	x := l.life
	x.mu.Lock()
	x.aliveLocked()
	if cause := l.cause; cause != nil {
		x.mu.Unlock()
		if errors.Is(cause, ErrReleased) || errors.Is(cause, ErrSessionClosed) {
			return nil
		}
		return failedName("release", l.name, cause)
	}
	l.lose(ErrReleased)
	x.mu.Unlock()
	ctx, op := l.begin(ctx, OpRelease)
	_, err := x.release(ctx, l.name, l.order)
	op.end(err)
	if statusOf(err) == protocol.StatusFenced {
		err = fmt.Errorf("%w: %w", err, ErrLeaseLost)
	}
	return failedName("release", l.name, err)
}

// Update replaces the data of the semaphore, if the lease is still held. Otherwise nothing changes, and the error is
// ErrFenced, and the cause of the lease's end too: ErrReleased, ErrLeaseLost, or the *SessionEnd.
//
// A *SessionEnd without ErrFenced says that the session ended before a host had answered: the outcome is not known.
func (l *Lease) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	c := newUpdateConfig(options)
	if c.lease != nil && c.lease != l {
		return failedName("update", l.name, badRequest("it is guarded by another lease already: this one"))
	}
	if err := l.Err(); err != nil {
		return failedName("update", l.name, fmt.Errorf("%w: %w", ErrFenced, err))
	}
	ctx, op := l.begin(ctx, OpUpdate)
	err := l.life.update(ctx, l.name, data, l.order, c.revision)
	op.end(err)
	if statusOf(err) == protocol.StatusFenced {
		err = fmt.Errorf("%w: %w", err, l.fenced())
	}
	return failedName("update", l.name, err)
}

// begin begins an operation on the semaphore of the lease.
func (l *Lease) begin(ctx context.Context, kind OperationKind) (context.Context, *operation) {
	return l.life.client.begin(ctx, kind, l.life.session.path, l.name)
}

// fenced ends the lease, because a host has answered that the session does not own under its order id. It returns the
// cause of the end.
func (l *Lease) fenced() error {
	x := l.life
	x.mu.Lock()
	defer x.mu.Unlock()
	l.lose(ErrLeaseLost)
	if lane := x.lanes[l.name]; lane != nil && lane.lease == l {
		lane.lease = nil
		x.tidy(lane)
	}
	return l.cause
}

// Change gives a part of the lease back, or replaces the data of the owner. What is not given as an option
// stays. A count can only become smaller.
func (l *Lease) Change(ctx context.Context, options ...AcquireOption) error {
	x := l.life
	x.mu.Lock()
	x.aliveLocked()
	c, cause, ephemeral := acquireConfig{count: l.count, data: l.data}, l.cause, l.ephemeral
	x.mu.Unlock()
	for _, o := range options {
		o(&c)
	}
	// An owner does not wait. If the lease is lost meanwhile, nothing must be queued for it.
	c.timeout, c.bounded, c.onQueued = 0, true, nil
	if cause == nil {
		cause = c.validate()
	}
	if cause != nil {
		return failedName("change", l.name, cause)
	}
	ctx, op := l.begin(ctx, OpChange)
	now, _, err := x.acquire(ctx, l.name, ephemeral, &c)
	switch {
	case err == nil && now != l:
		// Another lease was got in its place, or nothing.
		if now != nil {
			_ = now.Release(ctx) // it goes on by itself
		}
		err = ErrLeaseLost
	}
	op.end(err)
	return failedName("change", l.name, err)
}
