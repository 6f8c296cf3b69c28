package limiter

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

// Slot is one slot of a limiter that is held. It is safe for use by many goroutines.
type Slot struct {
	limiter *Limiter
	session *client.Session
	hold    *lock.Hold
}

// Fence returns the fencing token of the slot.
func (s *Slot) Fence() uint64 { return s.hold.Fence() }

// Context returns a context that ends when the slot is lost, with the client's reason as its cause, and when it is
// released.
func (s *Slot) Context() context.Context { return s.hold.Context() }

// Err returns nil while the slot is held, by the clock of this moment, ErrLost with the reason where it is lost, and
// lock.ErrNotHeld after Release.
func (s *Slot) Err() error { return s.hold.Err() }

// Release gives the slot back. From the call on it is not held; where the context ends before the cluster has answered,
// the release goes on by itself. ErrLost says that the slot was lost before, lock.ErrNotHeld that it was released
// before.
func (s *Slot) Release(ctx context.Context) error {
	err := s.hold.Unlock(ctx)
	if !errors.Is(err, lock.ErrNotHeld) {
		s.limiter.free(s.session)
	}
	return err
}
