package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/option"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
)

// Semaphore is a semaphore as one session uses it. A Semaphore is a name: making one asks no host, and it needs no
// closing. It is safe for use by many goroutines.
type Semaphore struct {
	session   *Session
	name      string
	limit     uint64
	limited   bool // an acquire creates the semaphore, with the limit
	data      []byte
	ephemeral bool
}

// Semaphore returns the persistent semaphore of a name in the session's node.
func (s *Session) Semaphore(name string, options ...SemaphoreOption) *Semaphore {
	x := &Semaphore{session: s, name: name}
	for _, o := range options {
		o(x)
	}
	return x
}

// Name returns the name of the semaphore.
func (s *Semaphore) Name() string { return s.name }

// Acquire waits until the session owns the part that is asked for: 1 of the semaphore's limit, or Count. Acquire waits
// for as long as the session lives, or Timeout; ErrNotAcquired says that the timeout has passed.
//
// If the context ends first, nothing is left behind: no place in the queue, and no owner.
//
// A session has one place in a semaphore. An Acquire while the session waits takes the place over: the earlier Acquire
// fails with ErrAborted. An Acquire by the owner does not wait: it makes the count smaller, replaces the data, and
// returns the existing lease. To use a semaphore between the goroutines of one process, give each goroutine a session
// of its own.
func (s *Semaphore) Acquire(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	c := acquireConfig{Count: 1, Timeout: session.Forever}
	for _, o := range options {
		o(&c)
	}
	ctx, op := s.session.client.begin(ctx, OpAcquire, s.session.path, s.name)
	lease, ok, err := s.acquire(ctx, &c)
	op.endAcquire(ok, err)
	if err == nil && !ok {
		err = ErrNotAcquired
	}
	if err != nil {
		return nil, failedName("acquire", s.name, err)
	}
	return lease, nil
}

// TryAcquire is Acquire without waiting in the queue. ok is false if the acquire would have to wait.
func (s *Semaphore) TryAcquire(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	c := acquireConfig{Count: 1}
	for _, o := range options {
		o(&c)
	}
	c.Timeout = 0
	ctx, op := s.session.client.begin(ctx, OpTryAcquire, s.session.path, s.name)
	lease, ok, err = s.acquire(ctx, &c)
	op.endAcquire(ok, err)
	return lease, ok, failedName("acquire", s.name, err)
}

func (s *Semaphore) acquire(ctx context.Context, c *acquireConfig) (*Lease, bool, error) {
	if err := c.Check(); err != nil {
		return nil, false, err
	}
	if s.limited && s.limit == 0 {
		return nil, false, failure.BadRequest("the limit must be at least 1")
	}
	if err := checkName(s.name); err != nil {
		return nil, false, err
	}
	in, err := s.session.incarnation(ctx)
	if err != nil {
		return nil, false, err
	}
	c.NamedLimit, c.Ephemeral = s.limit, s.ephemeral
	l, err := in.Acquire(ctx, s.name, c)
	if err != nil && s.limited {
		l, err = s.createAndAcquire(ctx, in, c, err)
	}
	if l == nil {
		return nil, false, err
	}
	return l.User.(*Lease), true, nil
}

// createAndAcquire is the rest of an acquire that failed and names a limit: if the semaphore does not exist, the
// semaphore is created with the limit.
func (s *Semaphore) createAndAcquire(
	ctx context.Context, in *session.Incarnation, c *acquireConfig, err error,
) (*session.Lease, error) {
	if c.Count <= s.limit {
		err = s.session.client.withLimit(ctx, in, in.NodeID(), s.session.path, s.name, s.limit, err)
	}
	if !errors.Is(err, ErrNotFound) {
		return nil, err
	}
	if c.Count > s.limit {
		return nil, failure.BadRequest(fmt.Sprintf(
			"the count %d is above the limit %d for creating the semaphore", c.Count, s.limit))
	}
	if err := in.Create(ctx, s.name, s.limit, s.data); err != nil && !errors.Is(err, ErrAlreadyExists) {
		return nil, err
	}
	return in.Acquire(ctx, s.name, c)
}

// checkName refuses a string that can be the name of no semaphore, before a host is asked.
func checkName(name string) error {
	if name == "" || len(name) > protocol.MaxNameBytes {
		return failure.BadRequest(fmt.Sprintf("the name has %d bytes, but must have 1 to "+
			"%d", len(name), protocol.MaxNameBytes))
	}
	return nil
}

// do carries out an operation on the semaphore by the session's incarnation.
func (s *Semaphore) do(
	ctx context.Context, kind OperationKind, f func(ctx context.Context, in *session.Incarnation) error,
) error {
	return failedName(string(kind), s.name, s.session.do(ctx, kind, s.name, f))
}

// Release gives back everything that the session owns of the semaphore, or ends the session's wait: the waiting
// Acquire fails with ErrAborted. released is false if the session neither owned nor waited. The Release of a Lease is
// safer: it gives back nothing but the part that the lease stands for.
func (s *Semaphore) Release(ctx context.Context) (released bool, err error) {
	err = s.do(ctx, OpRelease, func(ctx context.Context, in *session.Incarnation) (err error) {
		released, err = in.Release(ctx, s.name, 0)
		return err
	})
	return released, err
}

// Create creates the semaphore. ErrAlreadyExists says that the semaphore exists; it was not changed. If the limit of
// the existing semaphore differs, an *LimitMismatch is in the error.
func (s *Semaphore) Create(ctx context.Context, limit uint64, data []byte) error {
	return s.do(ctx, OpCreate, func(ctx context.Context, in *session.Incarnation) error {
		err := in.Create(ctx, s.name, limit, data)
		return s.session.client.withLimit(ctx, in, in.NodeID(), s.session.path, s.name, limit, err)
	})
}

// Update replaces the data of the semaphore. An update needs no lease, unless Guard asks for a lease.
func (s *Semaphore) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	c := newUpdateConfig(options)
	if c.lease != nil {
		if c.lease.Name() != s.name {
			return failedName("update", s.name,
				failure.BadRequest("the lease belongs to another semaphore, "+strconv.Quote(c.lease.Name())))
		}
		return c.lease.Update(ctx, data, options...)
	}
	return s.do(ctx, OpUpdate, func(ctx context.Context, in *session.Incarnation) error {
		return in.Update(ctx, s.name, data, 0, c.revision)
	})
}

// Resize gives the semaphore a new limit. A higher limit lets waiters in, in their order, as far as they fit. A lower
// limit takes nothing away: owners keep their counts, even if the sum is above the limit, and no acquire gets anything
// until enough was released. An Acquire that waits for more than the limit ends with ErrResized when its turn comes.
//
// A resize needs no lease; IfRevision guards a resize as it guards an Update, and Guard does not. For an ephemeral
// semaphore the error is ErrPreconditionFailed. In a cluster with a host that does not know this request yet the error
// is ErrUnsupported.
func (s *Semaphore) Resize(ctx context.Context, limit uint64, options ...UpdateOption) error {
	c, err := newResizeConfig(limit, options)
	if err != nil {
		return failedName("resize", s.name, err)
	}
	return s.do(ctx, OpResize, func(ctx context.Context, in *session.Incarnation) error {
		return in.Resize(ctx, s.name, limit, c.revision)
	})
}

// Delete deletes the semaphore; ErrPreconditionFailed says that the semaphore is in use.
func (s *Semaphore) Delete(ctx context.Context, options ...DeleteOption) error {
	c := option.Apply(&deleteConfig{}, options)
	return s.do(ctx, OpDelete, func(ctx context.Context, in *session.Incarnation) error {
		return in.Delete(ctx, s.name, c.force)
	})
}

// Describe describes the semaphore.
func (s *Semaphore) Describe(ctx context.Context, options ...DescribeOption) (d *SemaphoreDetails, err error) {
	err = s.do(ctx, OpDescribe, func(ctx context.Context, in *session.Incarnation) (err error) {
		d, err = s.session.client.describe(ctx, in, in.NodeID(), s.name, options...)
		return err
	})
	return d, err
}

// Watch returns the views of the semaphore: the present view first, and then a newer view whenever the semaphore has
// changed, until the context ends or the loop is left. Node.Watch says more.
func (s *Semaphore) Watch(ctx context.Context, options ...WatchOption) iter.Seq2[*View, error] {
	return func(yield func(*View, error) bool) {
		var in *session.Incarnation
		err := checkName(s.name)
		if err == nil {
			in, err = s.session.incarnation(ctx)
		}
		if err != nil {
			yield(nil, failedName("watch", s.name, err))
			return
		}
		s.session.client.watch(ctx, in.NodeID(), s.name, options)(yield)
	}
}

// Ephemeral is a semaphore that needs no creating: the first owner makes the semaphore, and it is gone with the last
// owner. An Ephemeral is used as a lock, exclusive or shared. Like a Semaphore, an Ephemeral is a name, as one session
// uses it.
type Ephemeral struct {
	semaphore Semaphore
}

// Ephemeral returns the ephemeral semaphore of a name in the session's node.
func (s *Session) Ephemeral(name string) *Ephemeral {
	return &Ephemeral{Semaphore{session: s, name: name, ephemeral: true}}
}

// Name returns the name of the semaphore.
func (e *Ephemeral) Name() string { return e.semaphore.name }

// Lock waits until the session owns the semaphore alone.
func (e *Ephemeral) Lock(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, append(options[:len(options):len(options)], Count(All))...)
}

// TryLock is Lock without waiting.
func (e *Ephemeral) TryLock(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, append(options[:len(options):len(options)], Count(All))...)
}

// RLock waits until the session owns the semaphore, together with all sessions that share it.
func (e *Ephemeral) RLock(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, append(options[:len(options):len(options)], Count(1))...)
}

// TryRLock is RLock without waiting.
func (e *Ephemeral) TryRLock(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, append(options[:len(options):len(options)], Count(1))...)
}

// Acquire waits for Count of the semaphore, whose limit is All: 1 shares the semaphore, All owns the semaphore alone.
func (e *Ephemeral) Acquire(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, options...)
}

// TryAcquire is Acquire without waiting.
func (e *Ephemeral) TryAcquire(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, options...)
}

// Release gives back everything that the session owns of the semaphore, or ends the session's wait for the semaphore.
func (e *Ephemeral) Release(ctx context.Context) (released bool, err error) {
	return e.semaphore.Release(ctx)
}

// Update replaces the data of the semaphore. The data is gone when the semaphore is gone.
func (e *Ephemeral) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	return e.semaphore.Update(ctx, data, options...)
}

// Describe describes the semaphore. ErrNotFound says that no session owns the semaphore.
func (e *Ephemeral) Describe(ctx context.Context, options ...DescribeOption) (*SemaphoreDetails, error) {
	return e.semaphore.Describe(ctx, options...)
}

// Watch returns the views of the semaphore, as Semaphore.Watch does.
func (e *Ephemeral) Watch(ctx context.Context, options ...WatchOption) iter.Seq2[*View, error] {
	return e.semaphore.Watch(ctx, options...)
}
