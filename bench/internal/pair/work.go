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
	// What and Floor describe each side's operation.
	What, Floor string
	// Floors is the number of floor operations for one operation of the workload.
	Floors float64
	// Goal is the workload's largest allowed time, in multiples of its floor.
	Goal    float64
	Callers int
	// Log means a floor with a bare proposal and one caller; otherwise the floor is echoes of equally many callers.
	Log bool

	// caller makes the operation of the caller with a number.
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

// Works are the names of all workloads.
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
	// pieces is the number of semaphores to read, with equal data sizes, as in the other runs of reads.
	pieces     = 64
	pieceBytes = 32
)

// shared is the common state of a workload's callers.
type shared struct {
	data  []byte // of every piece
	names []string
	fence atomic.Uint64 // of the latest hand-off
}

// Operations makes the callers' requirements with one client, and returns each caller's operation.
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

// handOffs releases the semaphore wanted by all callers, and waits until the caller owns it again: between turns one
// caller owns the semaphore, and the others wait.
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

// reads describes one piece after the other, each into the same memory.
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
