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

// Semaphore is a session's handle for a named semaphore. Creating a handle does not contact a host, and a handle needs
// no closing. A Semaphore is safe for concurrent use.
type Semaphore struct {
	session   *Session
	name      string
	limit     uint64
	limited   bool // an acquire creates the semaphore, with the limit
	data      []byte
	ephemeral bool
}

// Semaphore returns a handle for the named persistent semaphore in the session's node.
func (s *Session) Semaphore(name string, options ...SemaphoreOption) *Semaphore {
	x := &Semaphore{session: s, name: name}
	for _, o := range options {
		o(x)
	}
	return x
}

// Name returns the semaphore name.
func (s *Semaphore) Name() string { return s.name }

// Acquire waits until the session owns the requested units: 1 unit by default, or Count. Acquire waits as long as the
// session lives, or until Timeout, when it fails with ErrNotAcquired.
//
// If the context ends first, Acquire leaves nothing behind: neither a queue position nor an owner.
//
// A session has at most one holding per semaphore. If the session already waits, a second Acquire takes over the queue
// position, and the first fails with ErrAborted. If the session is already an owner, Acquire does not wait: it reduces
// the count, replaces the data, and returns the existing lease. To use a semaphore between goroutines in one process,
// give each goroutine its own session.
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

// createAndAcquire continues a failed acquire that names a limit: if the semaphore does not exist, it is created with
// the limit.
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

// checkName rejects an invalid semaphore name before a host is asked.
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

// Release gives back everything that the session owns in the semaphore, or ends the session's wait: the waiting Acquire
// fails with ErrAborted. released is false if the session neither owned nor waited. Lease.Release is safer, because it
// only gives back the leased units.
func (s *Semaphore) Release(ctx context.Context) (released bool, err error) {
	err = s.do(ctx, OpRelease, func(ctx context.Context, in *session.Incarnation) (err error) {
		released, err = in.Release(ctx, s.name, 0)
		return err
	})
	return released, err
}

// Create creates the semaphore. If the semaphore exists, Create changes nothing and fails with ErrAlreadyExists; if its
// limit differs, the error also contains a *LimitMismatch.
func (s *Semaphore) Create(ctx context.Context, limit uint64, data []byte) error {
	return s.do(ctx, OpCreate, func(ctx context.Context, in *session.Incarnation) error {
		err := in.Create(ctx, s.name, limit, data)
		return s.session.client.withLimit(ctx, in, in.NodeID(), s.session.path, s.name, limit, err)
	})
}

// Update replaces the semaphore's data. An update needs no lease unless Guard is set.
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

// Resize changes the semaphore's limit. A higher limit admits waiters in order, as far as they fit. A lower limit takes
// nothing away: owners keep their counts, even if the sum exceeds the limit, and no acquire is granted until enough was
// released. An Acquire that waits for more than the limit fails with ErrResized when its turn comes.
//
// A resize needs no lease. IfRevision guards a resize like an Update; Guard does not apply. For an ephemeral semaphore,
// Resize fails with ErrPreconditionFailed. If a host in the cluster does not support Resize yet, the error is
// ErrUnsupported.
func (s *Semaphore) Resize(ctx context.Context, limit uint64, options ...UpdateOption) error {
	c, err := newResizeConfig(limit, options)
	if err != nil {
		return failedName("resize", s.name, err)
	}
	return s.do(ctx, OpResize, func(ctx context.Context, in *session.Incarnation) error {
		return in.Resize(ctx, s.name, limit, c.revision)
	})
}

// Delete deletes the semaphore. If the semaphore is in use, Delete fails with ErrPreconditionFailed.
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

// Ephemeral is a session's handle for an ephemeral semaphore: the first owner creates the semaphore, and it disappears
// with the last owner. Use an Ephemeral as a lock, exclusive or shared.
type Ephemeral struct {
	semaphore Semaphore
}

// Ephemeral returns a handle for the named ephemeral semaphore in the session's node.
func (s *Session) Ephemeral(name string) *Ephemeral {
	return &Ephemeral{Semaphore{session: s, name: name, ephemeral: true}}
}

// Name returns the semaphore name.
func (e *Ephemeral) Name() string { return e.semaphore.name }

// Lock waits until the session owns the semaphore alone.
func (e *Ephemeral) Lock(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, append(options[:len(options):len(options)], Count(All))...)
}

// TryLock is Lock without waiting.
func (e *Ephemeral) TryLock(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, append(options[:len(options):len(options)], Count(All))...)
}

// RLock waits until the session owns the semaphore, shared with other sessions that use RLock.
func (e *Ephemeral) RLock(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, append(options[:len(options):len(options)], Count(1))...)
}

// TryRLock is RLock without waiting.
func (e *Ephemeral) TryRLock(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, append(options[:len(options):len(options)], Count(1))...)
}

// Acquire waits for Count units; the limit is All. With 1 the semaphore is shared, with All it is exclusive.
func (e *Ephemeral) Acquire(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, options...)
}

// TryAcquire is Acquire without waiting.
func (e *Ephemeral) TryAcquire(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, options...)
}

// Release gives back everything that the session owns in the semaphore, or ends the session's wait.
func (e *Ephemeral) Release(ctx context.Context) (released bool, err error) {
	return e.semaphore.Release(ctx)
}

// Update replaces the semaphore's data, which disappears with the semaphore.
func (e *Ephemeral) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	return e.semaphore.Update(ctx, data, options...)
}

// Describe describes the semaphore. ErrNotFound means that no session owns the semaphore.
func (e *Ephemeral) Describe(ctx context.Context, options ...DescribeOption) (*SemaphoreDetails, error) {
	return e.semaphore.Describe(ctx, options...)
}

// Watch returns the semaphore's views, like Semaphore.Watch.
func (e *Ephemeral) Watch(ctx context.Context, options ...WatchOption) iter.Seq2[*View, error] {
	return e.semaphore.Watch(ctx, options...)
}
