package lock

import (
	"context"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
)

// Mutex is a lock for work that does not fit into one function, like a sync.Mutex with contexts, but the lock can be
// lost. A Mutex is safe for concurrent use.
type Mutex struct {
	session *client.Session
	name    string

	mu   sync.Mutex // guards hold
	hold *Lock      // nil while the mutex is not locked
}

// NewMutex returns the named mutex in the session's node, without contacting a host. All mutexes with the same session
// and name are one lock, which Do also uses.
func NewMutex(s *client.Session, name string) *Mutex {
	return &Mutex{session: s, name: name}
}

// Lock waits for the lock and returns the fencing token. ErrNotAcquired means that the lock was not obtained.
func (m *Mutex) Lock(ctx context.Context) (fence uint64, err error) {
	h, err := obtain(ctx, m.session, m.name, nil, false)
	if err != nil {
		return 0, err
	}
	return m.keep(h), nil
}

// TryLock is Lock without waiting; ok is false if the lock is taken.
func (m *Mutex) TryLock(ctx context.Context) (fence uint64, ok bool, err error) {
	h, err := obtain(ctx, m.session, m.name, nil, true)
	if h == nil {
		return 0, false, err
	}
	return m.keep(h), true, nil
}

func (m *Mutex) keep(h *Lock) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hold = h
	return h.Fence()
}

// Unlock gives the lock back. From the call on the lock is not held; if the context ends before the cluster has
// answered, the giving back goes on by itself. ErrLost says that the lock was lost before; a lost lock must be
// unlocked too, before the next Lock. ErrNotHeld says that the mutex was not locked.
func (m *Mutex) Unlock(ctx context.Context) error {
	m.mu.Lock()
	h := m.hold
	m.hold = nil
	m.mu.Unlock()
	if h == nil {
		return failure.OfName("lock", "unlock", m.name, ErrNotHeld)
	}
	return h.Unlock(ctx)
}

// Lost returns a channel that is closed when the current lock is lost or unlocked. If the mutex is not locked, the
// channel is closed already.
func (m *Mutex) Lost() <-chan struct{} {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.hold == nil {
		return unheld
	}
	return m.hold.Lost()
}

// unheld is the Lost channel for an unlocked mutex.
var unheld = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// RWMutex is a Mutex that readers can share. An RWMutex is safe for concurrent use.
type RWMutex struct {
	Mutex
}

// NewRWMutex returns the named mutex in the session's node, like NewMutex.
func NewRWMutex(s *client.Session, name string) *RWMutex {
	return &RWMutex{Mutex{session: s, name: name}}
}

// RLock waits for the lock, shared with other readers. Every reader gets and unlocks a separate Lock, so a reader whose
// lock was lost cannot unlock another reader's lock.
func (m *RWMutex) RLock(ctx context.Context) (*Lock, error) {
	return obtain(ctx, m.session, m.name, []Option{Shared()}, false)
}

// TryRLock is RLock without waiting; ok is false if the lock is taken.
func (m *RWMutex) TryRLock(ctx context.Context) (h *Lock, ok bool, err error) {
	h, err = obtain(ctx, m.session, m.name, []Option{Shared()}, true)
	return h, h != nil, err
}
