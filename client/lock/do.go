package lock

import (
	"context"

	"github.com/signalbox/signalbox/client"
)

// Do waits for the lock of a name in the session's node, holds the lock while the function runs, and gives the lock
// back afterwards. The lock is exclusive if no option says otherwise.
//
// The context of the function ends with ctx, and when the lock is lost, with ErrLost in the cause. The fence is the
// token to send along with writes.
//
// The error says what happened. With ErrNotAcquired the function was not run. With ErrLost the lock was lost while the
// function ran, even if the function has not noticed; the error of the function is joined to ErrLost. Any other error
// is the function's own, unchanged.
//
// If the context ends before the lock is obtained, nothing is left in the queue.
func Do(
	ctx context.Context, s *client.Session, name string, fn func(ctx context.Context, fence uint64) error,
	options ...Option,
) error {
	h, err := obtain(ctx, s, name, options, false)
	if err != nil {
		return err
	}
	return h.Do(ctx, fn)
}

// TryDo is Do without waiting: ok is false if the lock is taken, even by or for another goroutine with the same
// session. The function has run if and only if ok is true.
func TryDo(
	ctx context.Context, s *client.Session, name string, fn func(ctx context.Context, fence uint64) error,
	options ...Option,
) (ok bool, err error) {
	h, err := obtain(ctx, s, name, options, true)
	if h == nil {
		return false, err
	}
	return true, h.Do(ctx, fn)
}

// Acquire waits for the named lock in the session's node, like Do, for work that does not fit into one function.
func Acquire(ctx context.Context, s *client.Session, name string, options ...Option) (*Lock, error) {
	return obtain(ctx, s, name, options, false)
}

// TryAcquire is Acquire without waiting; ok is false if the lock is taken.
func TryAcquire(ctx context.Context, s *client.Session, name string, options ...Option) (h *Lock, ok bool, err error) {
	h, err = obtain(ctx, s, name, options, true)
	return h, h != nil, err
}
