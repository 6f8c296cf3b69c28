package client

import (
	"context"
	"iter"
)

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
