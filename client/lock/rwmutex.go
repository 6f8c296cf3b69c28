package lock

import (
	"context"

	"github.com/signalbox/signalbox/client"
)

// RWMutex is a Mutex that can be shared by readers. It is safe for use by many goroutines.
type RWMutex struct {
	Mutex
}

// NewRWMutex returns the mutex of that name in the session's node, as NewMutex does.
func NewRWMutex(s *client.Session, name string) *RWMutex {
	return &RWMutex{Mutex{session: s, name: name}}
}

// RLock waits for the lock, together with others that share it. Each reader unlocks its own Hold, so that who
// reads under a lock that was lost cannot unlock that of another.
func (m *RWMutex) RLock(ctx context.Context) (*Hold, error) {
	return obtain(ctx, m.session, m.name, []Option{Shared()}, false)
}

// TryRLock is RLock without waiting; ok is false where the lock is taken.
func (m *RWMutex) TryRLock(ctx context.Context) (h *Hold, ok bool, err error) {
	h, err = obtain(ctx, m.session, m.name, []Option{Shared()}, true)
	return h, h != nil, err
}
