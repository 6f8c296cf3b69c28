package lock_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/clienttest"
)

const path = clienttest.Path

func TestMain(m *testing.M) { clienttest.Main(m) }

// stage is a cluster with a client, for one test.
type stage struct{ *clienttest.Stage }

func newStage(t *testing.T) *stage {
	t.Helper()
	return &stage{clienttest.New(t, servertest.Shards(1))}
}

// inside returns how many owners and waiters the semaphore has.
func (s *stage) inside(name string) (owners, waiters int) {
	s.T.Helper()
	d, err := s.Client.Node(path).Describe(s.T.Context(), name, client.WithOwners(), client.WithWaiters())
	if errors.Is(err, client.ErrNotFound) {
		return 0, 0
	}
	if err != nil {
		s.T.Fatal(err)
	}
	return len(d.Owners), len(d.Waiters)
}

// want checks how many own and wait.
func (s *stage) want(name string, owners, waiters int) {
	s.T.Helper()
	if o, w := s.inside(name); o != owners || w != waiters {
		s.T.Fatalf("%q has %d owners and %d waiters, not %d and %d", name, o, w, owners, waiters)
	}
}

// hold is a function for Do: hold reports its start, and runs until its release or its context's end.
type hold struct {
	in    chan uint64
	leave chan struct{}
}

func newHold() *hold { return &hold{in: make(chan uint64, 1), leave: make(chan struct{})} }

func (h *hold) run(ctx context.Context, fence uint64) error {
	h.in <- fence
	select {
	case <-h.leave:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// never is the fake time in which a forbidden event must not come.
const never = time.Minute
