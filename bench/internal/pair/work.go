package pair

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/signalbox/signalbox/bench/internal/load"
	"github.com/signalbox/signalbox/client"
)

// Work is a workload and its floor.
type Work struct {
	Name string
	// What and Floor describe the two sides' operations.
	What, Floor string
	// Floors is the number of floor operations per workload operation.
	Floors float64
	// Goal is the workload's maximum time, in multiples of its floor.
	Goal    float64
	Callers int
	// Log selects a floor with a bare proposal and one caller; otherwise the floor is echoes with equally many callers.
	Log bool

	// caller creates the operation for caller i.
	caller func(ctx context.Context, c *client.Client, s *shared, i int) (load.Operation, error)
}

var works = []Work{
	{Name: "lock", Callers: 1, Log: true, Goal: 1.2, caller: locks,
		What: "a lock and unlock, 1 caller", Floor: "two bare proposals, each followed by an echo", Floors: 2},
	{Name: "handoff", Callers: 32, Log: true, Goal: 1.25, caller: handOffs,
		What: "a hand-off, 32 callers", Floor: "a bare proposal, followed by an echo", Floors: 1},
	{Name: "read", Callers: 64, Goal: 1.3, caller: reads,
		What: "a relaxed read, 64 callers", Floor: "an echo, 64 callers", Floors: 1},
}

// Works returns all workload names.
func Works() (names []string) {
	for _, w := range works {
		names = append(names, w.Name)
	}
	return names
}

// WorkOf returns the workload with a name, or false.
func WorkOf(name string) (Work, bool) {
	i := slices.IndexFunc(works, func(w Work) bool { return w.Name == name })
	if i < 0 {
		return Work{}, false
	}
	return works[i], true
}

const (
	node = "/bench"
	// pieces is the number of semaphores to read; data sizes match other read workloads.
	pieces     = 64
	pieceBytes = 32
)

// shared is the state shared by a workload's callers.
type shared struct {
	data  []byte // of every piece
	names []string
	fence atomic.Uint64 // from the latest hand-off
}

// Operations prepares the callers with one client, and returns their operations.
func (w Work) Operations(ctx context.Context, c *client.Client) ([]load.Operation, error) {
	if _, err := c.CreateNode(ctx, node, client.NodeConfig{}); err != nil {
		return nil, err
	}
	s := &shared{data: bytes.Repeat([]byte{'x'}, pieceBytes)}
	for i := range max(pieces, w.Callers) {
		s.names = append(s.names, fmt.Sprint("piece-", i))
		if err := c.Node(node).Create(ctx, s.names[i], 1, s.data); err != nil {
			return nil, err
		}
	}
	return load.Prepare(w.Callers, func(i int) (load.Operation, error) { return w.caller(ctx, c, s, i) })
}

// locks acquires and releases the caller's own semaphore.
func locks(ctx context.Context, c *client.Client, s *shared, i int) (load.Operation, error) {
	session, err := c.Session(ctx, node)
	if err != nil {
		return nil, err
	}
	semaphore, last := session.Semaphore(s.names[i]), uint64(0)
	return func(ctx context.Context) error {
		lease, err := semaphore.Acquire(ctx)
		if err != nil {
			return err
		}
		if lease.Fence() <= last {
			return fmt.Errorf("%w: a lock came with fence %d after %d", load.ErrBroken, lease.Fence(), last)
		}
		last = lease.Fence()
		return lease.Release(ctx)
	}, nil
}

// handOffs releases the contended semaphore, and waits until the caller owns the semaphore again. Between turns one
// caller is the owner, and all other callers wait.
func handOffs(ctx context.Context, c *client.Client, s *shared, _ int) (load.Operation, error) {
	session, err := c.Session(ctx, node)
	if err != nil {
		return nil, err
	}
	semaphore := session.Semaphore(s.names[0])
	var lease *client.Lease // nil before the first operation
	return func(ctx context.Context) (err error) {
		if lease != nil {
			if err := lease.Release(ctx); err != nil {
				return err
			}
		}
		if lease, err = semaphore.Acquire(ctx); err != nil {
			return err
		}
		if last := s.fence.Swap(lease.Fence()); lease.Fence() <= last {
			return fmt.Errorf("%w: an owner has fence %d after one of %d", load.ErrBroken, lease.Fence(), last)
		}
		return nil
	}, nil
}

// reads describes one piece after another into the same memory.
func reads(_ context.Context, c *client.Client, s *shared, i int) (load.Operation, error) {
	at, next := c.Node(node), i%pieces
	options := []client.DescribeOption{client.WithConsistency(client.Relaxed),
		client.ReuseDetails(&client.SemaphoreDetails{})}
	return func(ctx context.Context) error {
		d, err := at.Describe(ctx, s.names[next], options...)
		if err != nil {
			return err
		}
		if !bytes.Equal(d.Data, s.data) {
			return fmt.Errorf("%w: %q was read from %s", load.ErrBroken, d.Data, s.names[next])
		}
		next = (next + 1) % pieces
		return nil
	}, nil
}
