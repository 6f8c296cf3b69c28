package lock

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
)

// farewell bounds how long Do waits for the cluster to take the lock back. Afterwards the giving back goes on by
// itself.
const farewell = time.Second

// Lock is a held lock, returned by Acquire and RWMutex.RLock. A Lock is safe for concurrent use.
type Lock struct {
	place *place
	lease *client.Lease
	group *group // nil for an exclusive holder
	over  atomic.Bool
}

// Fence returns the fencing token.
func (l *Lock) Fence() uint64 { return l.lease.Fence() }

// Lost returns a channel that is closed when the lock is lost. After Unlock the channel is meaningless.
func (l *Lock) Lost() <-chan struct{} { return l.lease.Context().Done() }

// Context returns the context of the lease: the context ends when the lock is lost, with the client's reason as the
// cause, and when the lock is unlocked.
func (l *Lock) Context() context.Context { return l.lease.Context() }

// Err checks the clock. It returns nil while the lock is held, ErrLost with the reason if the lock is lost, and
// ErrNotHeld after Unlock.
func (l *Lock) Err() error {
	lost := l.lost()
	if l.over.Load() {
		return failure.OfName("lock", "hold", l.place.name, ErrNotHeld)
	}
	return lost
}

// Unlock gives the lock back. From the call on the lock is not held; if the context ends before the cluster has
// answered, the giving back goes on by itself. ErrLost says that the lock was lost before, ErrNotHeld that the lock
// was unlocked before.
func (l *Lock) Unlock(ctx context.Context) error {
	if l.over.Swap(true) {
		return failure.OfName("lock", "unlock", l.place.name, ErrNotHeld)
	}
	lost := l.lost()
	err := l.place.release(ctx, l)
	if lost != nil {
		return lost
	}
	return failure.OfName("lock", "unlock", l.place.name, err)
}

// lost returns why the lock is lost, or nil.
func (l *Lock) lost() error {
	if cause := l.lease.Err(); cause != nil {
		return failure.OfName("lock", "hold", l.place.name, fmt.Errorf("%w: %w", ErrLost, cause))
	}
	return nil
}

// heldKey is the context key for the Lock of a function that runs under a lock.
type heldKey struct{}

// Err checks the clock and reports whether the lock is held: nil, or the reason if not. ctx is the context passed to a
// function by Do, or derived from it. In nested Do calls, the innermost lock counts.
//
// The context ends with the lock, but only by a timer, and timers fire late in a paused process. So call Err before an
// action that requires the lock, and send the fencing token along as well.
func Err(ctx context.Context) error {
	h, ok := ctx.Value(heldKey{}).(*Lock)
	if !ok {
		return failure.Of("lock", "hold", "",
			fmt.Errorf("%w: the context does not belong to a function under a lock", ErrNotHeld))
	}
	if err := h.Err(); err != nil {
		return err
	}
	return context.Cause(ctx)
}

// Do runs a function while the lock is held, and unlocks the lock, even if the function panics. The function's context
// and the error are as in the package function Do.
func (l *Lock) Do(ctx context.Context, fn func(ctx context.Context, fence uint64) error) error {
	running, end := context.WithCancelCause(context.WithValue(ctx, heldKey{}, l))
	unbind := context.AfterFunc(l.lease.Context(), func() { end(l.lost()) })
	defer func() {
		unbind()
		end(nil)
		bye, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewell)
		defer cancel()
		// The work of the function was done under the lock, whatever the unlocking returns. If no host can be reached,
		// the lock is free when the session ends.
		_ = l.Unlock(bye)
	}()
	err := fn(running, l.Fence())
	lost := l.lost()
	switch {
	case lost == nil || errors.Is(err, ErrLost):
		return err
	case err == nil:
		return lost
	}
	return fmt.Errorf("%w; the function ended with: %w", lost, err)
}
