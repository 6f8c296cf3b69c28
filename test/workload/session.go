package workload

import (
	"context"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/test/history"
)

// Client is the client of programs and watchers: the Go client, or a client in another language behind a driver.
type Client interface {
	// Session starts a session.
	Session(ctx context.Context, node string, timeout time.Duration) (Session, error)
	// Watch shows every view of a semaphore until the context ends, and returns why the watch ended.
	Watch(ctx context.Context, of history.Semaphore, show func(v history.View)) error
	// Close ends the client in order.
	Close() error
}

// Session is a session of a Client, used by a single program's goroutine.
type Session interface {
	ID() uint64
	// Context ends with the session. The cause is a *client.SessionEnd.
	Context() context.Context
	// Acquire waits until the session owns the requested count.
	Acquire(ctx context.Context, t Target, a Request) (Lease, error)
	// Release releases the session's holding by name, and reports whether there was one.
	Release(ctx context.Context, t Target) (bool, error)
	// Update replaces a semaphore's data: at any revision for 0, and guarded by a lease unless nil.
	Update(ctx context.Context, t Target, data string, revision uint64, guard Lease) error
	Create(ctx context.Context, t Target, data string) error
	Delete(ctx context.Context, t Target, force bool) error
	// Describe describes a semaphore with owners and waiters. If changed is set, the description leaves a one-shot
	// watch.
	Describe(ctx context.Context, t Target, mode client.Consistency, changed func()) (*history.State, error)
	Close(ctx context.Context) error
}

// Request describes an acquire.
type Request struct {
	Count uint64
	Wait  time.Duration // 0 is a try, negative for ever
	// Queued is called when the acquire waits, with the order id in the queue.
	Queued func(order uint64)
}

// Lease is a lease of a Session.
type Lease interface {
	Session() uint64
	Fence() uint64
	Count() uint64
	// Err is the reason why the client no longer believes in the lease, as far as the program knows; nil while it does.
	Err() error
	// Believed returns the latest moment up to now at which the client is known to have believed in the lease, and Err.
	Believed(now history.Time) (history.Time, error)
	// Ask asks the client itself, and returns like Err.
	Ask() error
	// Context ends when Err is no longer nil, with Err as the cause.
	Context() context.Context
	Change(ctx context.Context, count uint64) error
	Update(ctx context.Context, data string) error
	Release(ctx context.Context) error
}

// goClient is the Go client.
type goClient struct{ *client.Client }

func (c goClient) Session(ctx context.Context, node string, timeout time.Duration) (Session, error) {
	s, err := c.Client.Session(ctx, node, client.SessionTimeout(timeout))
	if err != nil {
		return nil, err
	}
	return goSession{s}, nil
}

func (c goClient) Watch(ctx context.Context, of history.Semaphore, show func(history.View)) error {
	var before []history.Link
	for v, err := range c.Node(of.Node).Watch(ctx, of.Name) {
		if err != nil {
			return err
		}
		now := owners(v)
		show(history.View{
			Semaphore: of, Broken: inconsistency(before, now, v.Changes()),
			State: history.State{
				Exists: v.Exists, Limit: v.Limit, Data: string(v.Data), Revision: v.Revision, Owners: now,
			},
		})
		before = now
	}
	return ctx.Err()
}

// goSession is a session of the Go client.
type goSession struct{ *client.Session }

// semaphore is the common interface of both kinds of semaphores.
type semaphore interface {
	Acquire(context.Context, ...client.AcquireOption) (*client.Lease, error)
	TryAcquire(context.Context, ...client.AcquireOption) (*client.Lease, bool, error)
	Release(context.Context) (bool, error)
	Update(context.Context, []byte, ...client.UpdateOption) error
	Describe(context.Context, ...client.DescribeOption) (*client.SemaphoreDetails, error)
}

func (s goSession) of(t Target) semaphore {
	if t.Ephemeral {
		return s.Ephemeral(t.Name)
	}
	return s.Semaphore(t.Name)
}

func (s goSession) Acquire(ctx context.Context, t Target, a Request) (Lease, error) {
	options := []client.AcquireOption{client.Count(a.Count), client.Data([]byte(t.Name))}
	var lease *client.Lease
	var err error
	if a.Wait == 0 {
		ok := false
		if lease, ok, err = s.of(t).TryAcquire(ctx, options...); err == nil && !ok {
			err = client.ErrNotAcquired
		}
	} else {
		if a.Wait > 0 {
			options = append(options, client.Wait(a.Wait))
		}
		lease, err = s.of(t).Acquire(ctx, append(options, client.OnQueued(a.Queued))...)
	}
	if err != nil {
		return nil, err
	}
	return goLease{lease}, nil
}

func (s goSession) Release(ctx context.Context, t Target) (bool, error) { return s.of(t).Release(ctx) }

func (s goSession) Update(ctx context.Context, t Target, data string, revision uint64, guard Lease) error {
	var options []client.UpdateOption
	if revision != 0 {
		options = append(options, client.IfRevision(revision))
	}
	if guard != nil {
		options = append(options, client.Guard(guard.(goLease).Lease))
	}
	return s.of(t).Update(ctx, []byte(data), options...)
}

func (s goSession) Create(ctx context.Context, t Target, data string) error {
	return s.Semaphore(t.Name).Create(ctx, t.Limit, []byte(data))
}

func (s goSession) Delete(ctx context.Context, t Target, force bool) error {
	var options []client.DeleteOption
	if force {
		options = append(options, client.Force())
	}
	return s.Semaphore(t.Name).Delete(ctx, options...)
}

func (s goSession) Describe(ctx context.Context, t Target, mode client.Consistency, changed func()) (*history.State,
	error) {
	options := []client.DescribeOption{client.WithOwners(), client.WithWaiters(), client.WithConsistency(mode)}
	if changed != nil {
		options = append(options, client.OnChanged(func(bool, bool) { changed() }))
	}
	details, err := s.of(t).Describe(ctx, options...)
	state, _, _ := StateOf(details, err)
	return state, err
}

// goLease is a lease of the Go client. Each check reads its clock.
type goLease struct{ *client.Lease }

func (l goLease) Ask() error { return l.Err() }

func (l goLease) Believed(now history.Time) (history.Time, error) {
	if err := l.Err(); err != nil {
		return 0, err
	}
	return now, nil
}

func (l goLease) Change(ctx context.Context, count uint64) error {
	return l.Lease.Change(ctx, client.Count(count))
}

func (l goLease) Update(ctx context.Context, data string) error {
	return l.Lease.Update(ctx, []byte(data))
}
