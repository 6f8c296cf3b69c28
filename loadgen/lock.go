package loadgen

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
)

var lockKind = &kind{
	Info: Info{
		Name:      "lock",
		Summary:   "every caller acquires and releases a separate semaphore: two changes on disk",
		Operation: "acquire and release",
		Checks:    "a strict read shows the owner; fences increase; all semaphores are free in the end",
		Settings:  []string{"ephemeral"},
	},
	make: func() workload { return &lock{} }, mixes: true,
}

// locker is the common part of persistent and ephemeral semaphores.
type locker interface {
	Acquire(ctx context.Context, options ...client.AcquireOption) (*client.Lease, error)
	Describe(ctx context.Context, options ...client.DescribeOption) (*client.SemaphoreDetails, error)
	Name() string
}

// lock is the workload lock: every caller has a session and a semaphore, so callers never wait for each other.
type lock struct {
	*stages
	run      *run
	sessions []*client.Session
}

// prepare starts the sessions, creates the semaphores unless they are ephemeral, and verifies one cycle for every
// caller.
func (l *lock) prepare(ctx context.Context, r *run) (err error) {
	l.run, l.stages = r, newStages(r.config.Callers, "acquire", "release")
	if l.sessions, err = r.sessions(ctx, r.config.Callers); err != nil {
		return err
	}
	if !r.config.Ephemeral {
		if err := r.create(ctx, "lock", r.config.Callers, 1, nil); err != nil {
			return err
		}
	}
	return each(ctx, len(l.sessions), l.prove)
}

func (l *lock) semaphore(i int) locker {
	if name := l.run.name("lock", i); l.run.config.Ephemeral {
		return l.sessions[i].Ephemeral(name)
	} else {
		return l.sessions[i].Semaphore(name)
	}
}

// prove runs one cycle and asks the hosts whether the acquiring session is the owner.
func (l *lock) prove(ctx context.Context, i int) error {
	x := l.semaphore(i)
	lease, err := x.Acquire(ctx)
	if err != nil {
		return err
	}
	d, err := x.Describe(ctx, client.WithOwners(), client.WithConsistency(client.Strict))
	if err != nil {
		return err
	}
	if err := owns(d, lease.Session(), lease.Fence()); err != nil {
		l.run.broken.add(err)
	}
	return lease.Release(ctx)
}

// owns checks that a session is a semaphore's only owner.
func owns(d *client.SemaphoreDetails, session, fence uint64) error {
	if len(d.Owners) != 1 || d.Owners[0].SessionID != session || d.Owners[0].OrderID != fence {
		return fmt.Errorf("semaphore %q was granted to session %d under the fence %d, and its owners are %v",
			d.Name, session, fence, d.Owners)
	}
	return nil
}

func (l *lock) caller(i int) operation {
	x := l.semaphore(i)
	fence := uint64(0)
	return func(ctx context.Context) error {
		began := time.Now()
		lease, err := x.Acquire(ctx)
		if err != nil {
			return err
		}
		acquired := l.stages.since(began, i, 0)
		if err := after(x.Name(), fence, lease.Fence()); err != nil {
			l.run.broken.add(err)
		}
		fence = lease.Fence()
		if err = lease.Release(ctx); err == nil {
			l.stages.since(acquired, i, 1)
		}
		return err
	}
}

func (l *lock) check(ctx context.Context) error { return l.run.free(ctx, "lock") }
