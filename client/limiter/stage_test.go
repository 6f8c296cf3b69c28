package limiter_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/limiter"
	"github.com/signalbox/signalbox/test/clienttest"
)

const path, name = clienttest.Path, "exports"

// workerVariable makes the test program a worker process. The value has the hosts' addresses.
const workerVariable = "SIGNALBOX_TEST_LIMITED"

func TestMain(m *testing.M) {
	if addresses := os.Getenv(workerVariable); addresses != "" {
		if err := workUntilInputEnds(addresses); err != nil {
			fmt.Println(err)
			os.Exit(1)
		}
		return
	}
	clienttest.Main(m)
}

// stage is an in-memory cluster in a time bubble.
type stage struct{ *clienttest.Stage }

func play(t *testing.T, f func(t *testing.T, g stage)) {
	clienttest.Play(t, 1, func(t *testing.T, g *clienttest.Stage) { f(t, stage{g}) })
}

// process returns a separate client's limiter, like another process.
func (st stage) process(limit uint64, options ...limiter.Option) *limiter.Limiter {
	st.T.Helper()
	return st.limiter(clienttest.Open(st.T, st.Server), limit, options...)
}

func (st stage) limiter(c *client.Client, limit uint64, options ...limiter.Option) *limiter.Limiter {
	st.T.Helper()
	l, err := limiter.New(c, path, name, limit, options...)
	clienttest.Check(st.T, err)
	st.T.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// acquire gets a slot, or fails the test.
func (st stage) acquire(l *limiter.Limiter) *limiter.Slot {
	st.T.Helper()
	ctx, cancel := context.WithTimeout(st.T.Context(), time.Minute)
	defer cancel()
	s, err := l.Acquire(ctx)
	clienttest.Check(st.T, err)
	clienttest.Check(st.T, s.Err())
	return s
}

// describe returns the semaphore's state in the cluster.
func (st stage) describe() *client.SemaphoreDetails {
	st.T.Helper()
	d, err := st.Client.Node(path).Describe(st.T.Context(), name, client.WithOwners(), client.WithWaiters())
	clienttest.Check(st.T, err)
	return d
}

// sessions returns the node's session count.
func (st stage) sessions() (n int) {
	st.T.Helper()
	for _, err := range st.Client.Node(path).Sessions(st.T.Context()) {
		clienttest.Check(st.T, err)
		n++
	}
	return n
}
