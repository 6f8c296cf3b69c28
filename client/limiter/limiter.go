package limiter

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/lock"
)

// Limiter lets a limited number of functions run at a time. A Limiter is safe for concurrent use; a process needs one
// Limiter per name.
type Limiter struct {
	client *client.Client
	path   string
	name   string
	limit  uint64
	config config
	ctx    context.Context // ends with Close
	end    context.CancelCauseFunc
	work   sync.WaitGroup // the attempts

	mu     sync.Mutex // guards the fields below
	closed bool
	queue  queue
	pool   pool
}

// New returns the named limiter in the node at path, without contacting a host. The first use creates the semaphore
// with the limit. An existing semaphore keeps its limit, and resizing the semaphore changes the limit for running
// limiters. The client reports a differing limit: see client.LimitMismatch.
func New(c *client.Client, path, name string, limit uint64, options ...Option) (*Limiter, error) {
	config, err := newConfig(limit, options)
	if err != nil {
		return nil, fmt.Errorf("limiter: %q: %w", name, err)
	}
	l := &Limiter{client: c, path: path, name: name, limit: limit, config: config}
	l.ctx, l.end = context.WithCancelCause(context.Background())
	l.pool.sessions = make(map[*client.Session]struct{})
	return l, nil
}

// Do waits for a slot, holds the slot while the function runs, and releases the slot. The function's context ends with
// ctx and, with ErrLost in the cause, when the slot is lost; lock.Err checks the clock. Errors are as in lock.Do.
func (l *Limiter) Do(ctx context.Context, fn func(ctx context.Context, fence uint64) error) error {
	s, err := l.Acquire(ctx)
	if err != nil {
		return err
	}
	defer l.free(s.session)
	return s.hold.Do(ctx, fn)
}

// Acquire waits for a slot. The slot must be released. If the context ends first, nothing is left in the queue.
func (l *Limiter) Acquire(ctx context.Context) (*Slot, error) {
	if ctx.Err() != nil {
		return nil, l.notObtained(context.Cause(ctx))
	}
	w := &waiter{got: make(chan result, 1)}
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		return nil, l.notObtained(ErrClosed)
	}
	l.queue.waiters = append(l.queue.waiters, w)
	l.balance()
	l.mu.Unlock()
	select {
	case r := <-w.got:
		return l.slot(r)
	case <-ctx.Done():
	}
	l.mu.Lock()
	waited := l.queue.remove(w)
	l.balance()
	l.mu.Unlock()
	if waited {
		return nil, l.notObtained(context.Cause(ctx))
	}
	return l.slot(<-w.got)
}

func (l *Limiter) slot(r result) (*Slot, error) {
	if r.err != nil {
		return nil, l.notObtained(r.err)
	}
	return r.slot, nil
}

// TryAcquire is Acquire without waiting: ok is false if all slots are taken, or goroutines wait for a slot. If a
// session has to be started for the slot, the start is waited for.
func (l *Limiter) TryAcquire(ctx context.Context) (s *Slot, ok bool, err error) {
	l.mu.Lock()
	switch {
	case l.closed:
		err = ErrClosed
	case len(l.queue.waiters) == 0 && l.pool.used < l.config.sessions:
		ok = true
		l.pool.used++
	}
	l.mu.Unlock()
	if err != nil {
		return nil, false, l.notObtained(err)
	}
	if !ok {
		return nil, false, nil
	}
	session, err := l.session(ctx)
	var hold *lock.Lock
	if err == nil {
		hold, ok, err = lock.TryAcquire(ctx, session, l.name, l.options()...)
	}
	if err != nil || !ok {
		l.free(session)
	}
	switch {
	case err != nil:
		return nil, false, l.notObtained(err)
	case !ok:
		return nil, false, nil
	}
	return &Slot{limiter: l, session: session, hold: hold}, true, nil
}

func (l *Limiter) options() []lock.Option {
	return []lock.Option{lock.Slots(l.limit, 1), lock.Data(l.config.data)}
}

func (l *Limiter) notObtained(cause error) error {
	return failure.OfName("limiter", "acquire", l.name, fmt.Errorf("%w: %w", ErrNotAcquired, cause))
}

// Close closes the limiter: waiting calls get ErrClosed, held slots are lost, and the sessions are closed. An error
// means that hosts have not confirmed the end of some session, which then ends by its timeout.
func (l *Limiter) Close(ctx context.Context) error {
	l.mu.Lock()
	l.closed = true
	l.queue.fail(ErrClosed)
	sessions := l.pool.close()
	l.mu.Unlock()
	l.end(ErrClosed)
	errs := make(chan error, len(sessions))
	for _, s := range sessions {
		go func() { errs <- s.Close(ctx) }()
	}
	var err error
	for range sessions {
		if e := <-errs; e != nil {
			err = e
		}
	}
	l.work.Wait()
	return failure.OfName("limiter", "close", l.name, err)
}

// Slot is a limiter slot held by a goroutine. A Slot is safe for concurrent use.
type Slot struct {
	limiter *Limiter
	session *client.Session
	hold    *lock.Lock
}

// Fence returns the slot's fencing token.
func (s *Slot) Fence() uint64 { return s.hold.Fence() }

// Context returns a context that ends when the slot is lost, with the client's reason as the cause, and when the slot
// is released.
func (s *Slot) Context() context.Context { return s.hold.Context() }

// Err checks the clock. It returns nil while the slot is held, ErrLost with the reason if the slot is lost, and
// lock.ErrNotHeld after Release.
func (s *Slot) Err() error { return s.hold.Err() }

// Release gives the slot back. From the call on the slot is not held; if the context ends before the cluster has
// answered, the release goes on by itself. ErrLost says that the slot was lost before, lock.ErrNotHeld that the slot
// was released before.
func (s *Slot) Release(ctx context.Context) error {
	err := s.hold.Unlock(ctx)
	if !errors.Is(err, lock.ErrNotHeld) {
		s.limiter.free(s.session)
	}
	return err
}
