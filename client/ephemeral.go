package client

import (
	"context"
	"iter"
)

// Ephemeral is a semaphore that needs no creating: it comes with its first owner and goes with its last. It is
// used as a lock that is taken exclusively, or shared. Like a Semaphore it is a name, as one session uses it.
type Ephemeral struct {
	semaphore Semaphore
}

// Ephemeral returns the ephemeral semaphore of that name in the session's node.
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

// RLock waits until the session owns the semaphore, together with others that share it.
func (e *Ephemeral) RLock(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, append(options[:len(options):len(options)], Count(1))...)
}

// TryRLock is RLock without waiting.
func (e *Ephemeral) TryRLock(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, append(options[:len(options):len(options)], Count(1))...)
}

// Acquire waits for Count of the semaphore, whose limit is All: 1 to share it, All to have it alone.
func (e *Ephemeral) Acquire(ctx context.Context, options ...AcquireOption) (*Lease, error) {
	return e.semaphore.Acquire(ctx, options...)
}

// TryAcquire is Acquire without waiting.
func (e *Ephemeral) TryAcquire(ctx context.Context, options ...AcquireOption) (lease *Lease, ok bool, err error) {
	return e.semaphore.TryAcquire(ctx, options...)
}

// Release gives back what the session owns of the semaphore, or ends its waiting.
func (e *Ephemeral) Release(ctx context.Context) (released bool, err error) {
	return e.semaphore.Release(ctx)
}

// Update replaces the data of the semaphore, which goes with it.
func (e *Ephemeral) Update(ctx context.Context, data []byte, options ...UpdateOption) error {
	return e.semaphore.Update(ctx, data, options...)
}

// Describe describes the semaphore. ErrNotFound says that no session owns it.
func (e *Ephemeral) Describe(ctx context.Context, options ...DescribeOption) (*SemaphoreDetails, error) {
	return e.semaphore.Describe(ctx, options...)
}

// Watch returns the views of the semaphore, as those of a Semaphore.
func (e *Ephemeral) Watch(ctx context.Context, options ...WatchOption) iter.Seq2[*View, error] {
	return e.semaphore.Watch(ctx, options...)
}
