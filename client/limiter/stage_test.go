package limiter_test

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/internal/clienttest"
	"github.com/signalbox/signalbox/client/limiter"
)

const path, name = clienttest.Path, "exports"

// workerVariable makes the test's program a process of workers: it holds the addresses of the hosts.
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

// stage is a cluster in memory, in a bubble of time.
type stage struct{ *clienttest.Stage }

func play(t *testing.T, f func(t *testing.T, g stage)) {
	clienttest.Play(t, 1, func(t *testing.T, g *clienttest.Stage) { f(t, stage{g}) })
}

// process returns the limiter of a client of its own, as another process would have it.
func (g stage) process(limit uint64, options ...limiter.Option) *limiter.Limiter {
	g.T.Helper()
	return g.limiter(clienttest.Open(g.T, g.Server), limit, options...)
}

func (g stage) limiter(c *client.Client, limit uint64, options ...limiter.Option) *limiter.Limiter {
	g.T.Helper()
	l, err := limiter.New(c, path, name, limit, options...)
	clienttest.Check(g.T, err)
	g.T.Cleanup(func() { _ = l.Close(context.Background()) })
	return l
}

// acquire gets a slot, or fails the test.
func (g stage) acquire(l *limiter.Limiter) *limiter.Slot {
	g.T.Helper()
	ctx, cancel := context.WithTimeout(g.T.Context(), time.Minute)
	defer cancel()
	s, err := l.Acquire(ctx)
	clienttest.Check(g.T, err)
	clienttest.Check(g.T, s.Err())
	return s
}

// describe returns the semaphore as the cluster has it.
func (g stage) describe() *client.SemaphoreDetails {
	g.T.Helper()
	d, err := g.Client.Node(path).Describe(g.T.Context(), name, client.WithOwners(), client.WithWaiters())
	clienttest.Check(g.T, err)
	return d
}

// sessions returns how many sessions there are in the node.
func (g stage) sessions() (n int) {
	g.T.Helper()
	for _, err := range g.Client.Node(path).Sessions(g.T.Context()) {
		clienttest.Check(g.T, err)
		n++
	}
	return n
}
