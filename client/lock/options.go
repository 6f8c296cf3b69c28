package lock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
)

// Option sets how a lock is obtained.
type Option func(*ask)

// ask is a caller's lock request.
type ask struct {
	shared bool
	slots  bool
	limit  uint64
	count  uint64
	bound  bool
	wait   time.Duration
	data   []byte
}

// Shared shares the lock with all other callers that use Shared, and excludes callers that want the lock alone.
func Shared() Option {
	return func(a *ask) { a.shared = true }
}

// Wait bounds how long to wait for the lock; client.ErrNotAcquired says that the time has passed. Without Wait, only
// the context bounds the waiting.
func Wait(timeout time.Duration) Option {
	return func(a *ask) { a.bound, a.wait = true, timeout }
}

// Data attaches data to the holder, visible to readers of the semaphore, for example an address. Sharers in one session
// have the first sharer's data.
func Data(data []byte) Option {
	return func(a *ask) { a.data = data }
}

// Slots makes the lock a counting semaphore: the holder takes count units out of limit. The first use creates a
// persistent semaphore. An existing semaphore's limit counts: after the semaphore is resized, running programs use the
// new limit. The client reports a differing limit: see client.LimitMismatch.
func Slots(limit, count uint64) Option {
	return func(a *ask) { a.slots, a.limit, a.count = true, limit, count }
}

func newAsk(options []Option) (*ask, error) {
	a := option.Apply(&ask{}, options)
	switch {
	case a.bound && a.wait <= 0:
		return nil, fmt.Errorf("%w: Wait needs a duration above 0; use TryDo to try without "+
			"waiting", client.ErrBadRequest)
	case a.slots && a.shared:
		return nil, fmt.Errorf("%w: Shared and Slots cannot be combined", client.ErrBadRequest)
	case a.slots && (a.limit == 0 || a.count == 0 || a.count > a.limit):
		return nil, fmt.Errorf("%w: Slots needs a limit of at least 1, and a count from 1 to the limit",
			client.ErrBadRequest)
	}
	return a, nil
}

// acquireLease acquires the session's place in the semaphore. It returns no lease if only a try was asked for, and the
// acquire would have to wait.
func (a *ask) acquireLease(
	ctx context.Context, s *client.Session, name string, try bool,
) (lease *client.Lease, err error) {
	options := []client.AcquireOption{client.Data(a.data)}
	acquire, tryAcquire := s.Ephemeral(name).Acquire, s.Ephemeral(name).TryAcquire
	switch {
	case a.slots:
		x := s.Semaphore(name, client.Limit(a.limit))
		acquire, tryAcquire = x.Acquire, x.TryAcquire
		options = append(options, client.Count(a.count))
	case a.shared:
		options = append(options, client.Count(1))
	default:
		options = append(options, client.Count(client.All))
	}
	if try {
		lease, _, err = tryAcquire(ctx, options...)
		return lease, err
	}
	return acquire(ctx, options...)
}

var (
	// ErrNotAcquired: the lock was not obtained, and no function was run. The cause is in the error too:
	// client.ErrNotAcquired if Wait has passed, or the cause of the context.
	ErrNotAcquired = errors.New("the lock was not acquired")
	// ErrLost means that the lock was lost before it was released. Other sessions may have held the lock meanwhile.
	ErrLost = errors.New("the lock was lost")
	// ErrNotHeld means that the lock is not held, so it cannot be unlocked.
	ErrNotHeld = errors.New("the lock is not held")
)

func notObtained(name string, cause error) error {
	return failure.OfName("lock", "obtain", name, fmt.Errorf("%w: %w", ErrNotAcquired, cause))
}
