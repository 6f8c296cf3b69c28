package client_test

import (
	"context"
	"fmt"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
)

// stage is a cluster that a test of behaviour plays on. The tests in behaviour_*_test.go ask for nothing else,
// so that any cluster can stand behind them.
type stage interface {
	addresses() string
	dial(ctx context.Context, address string) (net.Conn, error)
	// lead makes a host the leader of all shards.
	lead(host int)
	// cut breaks all connections; take takes a host down, bring brings it back.
	cut()
	take(host int)
	bring(host int)
	// ready waits until the hosts that are up serve, where that takes time.
	ready()
	size() int
	close()
}

const (
	path = "/test/jobs"
	name = "slots"
)

// play runs a test on every stage: in a bubble of time on hosts that are faked and on the real server in memory,
// and on real processes, where time is what it is. A cluster of processes has one host or three, and no fewer
// than the test asks for.
func play(t *testing.T, hosts, shards int, f func(t *testing.T, st stage, c *client.Client)) {
	t.Helper()
	playInBubbles(t, hosts, shards, f)
	for _, size := range []int{1, 3} {
		if size >= hosts {
			playOnProcesses(t, size, f)
		}
	}
}

// playOnProcesses runs a test on a cluster of processes, where there is time for that.
func playOnProcesses(t *testing.T, size int, f func(t *testing.T, st stage, c *client.Client)) {
	t.Helper()
	if testing.Short() {
		return
	}
	t.Run(fmt.Sprintf("processes=%d", size), func(t *testing.T) {
		playInRealTime[stage](t, started.stage(t, size), f)
	})
}

// playInRealTime runs a test on a stage outside of a bubble.
func playInRealTime[S stage](t *testing.T, st S, f func(t *testing.T, st S, c *client.Client)) {
	t.Helper()
	inBubble = false
	defer func() { inBubble = true }()
	perform(t, st, f)
}

// playInBubbles is play without real processes, for what takes too long when time is what it is.
func playInBubbles(t *testing.T, hosts, shards int, f func(t *testing.T, st stage, c *client.Client)) {
	t.Helper()
	t.Run("fake", func(t *testing.T) {
		playOn(t, func(t *testing.T) stage { return newFakeCluster(t, hosts, shards) }, f)
	})
	t.Run("server", func(t *testing.T) {
		playOn(t, func(t *testing.T) stage { return newServerStage(t, hosts, shards) }, f)
	})
}

// playOn runs a test on a stage in a bubble of time.
func playOn[S stage](t *testing.T, stage func(t *testing.T) S, f func(t *testing.T, st S, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) { perform(t, stage(t), f) })
}

// perform runs a test on a stage, with a node and a client. The stage is closed behind what the test and its
// cleanups leave.
func perform[S stage](t *testing.T, st S, f func(t *testing.T, st S, c *client.Client)) {
	t.Helper()
	t.Cleanup(st.close)
	c := open(t, st)
	if _, err := c.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	f(t, st, c)
}

// inBubble says that time is that of a bubble: it stands still while anything goes on. Tests run one by one.
var inBubble = true

// quiet waits until nothing goes on any more, where that can be known.
func quiet() {
	if inBubble {
		synctest.Wait()
	}
}

// either is a time, or a number, in a bubble and with real processes.
func either[T any](bubble, processes T) T {
	if inBubble {
		return bubble
	}
	return processes
}

// open opens a client that is closed with the test.
func open(t *testing.T, st stage, options ...client.Option) *client.Client {
	t.Helper()
	c, err := client.Open(t.Context(), st.addresses(), append(options, client.WithDialer(st.dial))...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// session starts a session.
func session(t *testing.T, c *client.Client, options ...client.SessionOption) *client.Session {
	t.Helper()
	s, err := c.Session(t.Context(), path, options...)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// acquire acquires, or fails the test.
func acquire(t *testing.T, s *client.Semaphore, options ...client.AcquireOption) *client.Lease {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	lease, err := s.Acquire(ctx, options...)
	if err != nil {
		t.Fatal(err)
	}
	if err := lease.Err(); err != nil {
		t.Fatalf("a lease that was just got is over: %v", err)
	}
	return lease
}

// result is what an Acquire on another goroutine came to.
type result struct {
	lease *client.Lease
	err   error
}

// acquiring acquires on another goroutine, and returns when the acquire is queued or over.
func acquiring(t *testing.T, ctx context.Context, s *client.Semaphore, options ...client.AcquireOption) <-chan result {
	t.Helper()
	return queueing(t, ctx, s, func(uint64) {}, options...)
}

// queueing is acquiring for who wants to know the place in the queue.
func queueing(
	t *testing.T, ctx context.Context, s *client.Semaphore, place func(order uint64), options ...client.AcquireOption,
) <-chan result {
	t.Helper()
	done, answered := make(chan result, 1), make(chan struct{})
	var once sync.Once
	options = append(options, client.OnQueued(func(order uint64) {
		place(order)
		once.Do(func() { close(answered) })
	}))
	go func() {
		lease, err := s.Acquire(ctx, options...)
		done <- result{lease, err}
		once.Do(func() { close(answered) })
	}()
	if inBubble {
		quiet() // a host that is made to keep silent settles nothing
	} else {
		<-answered
	}
	return done
}

// describe describes the semaphore of the tests, with everything.
func describe(t *testing.T, c *client.Client) *client.SemaphoreDetails {
	t.Helper()
	d, err := c.Node(path).Describe(t.Context(), name, client.WithOwners(), client.WithWaiters(),
		client.WithConsistency(client.Strict))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// eventually waits until something is true. Real processes on a busy machine get more time.
func eventually(t *testing.T, within time.Duration, what string, f func() bool) {
	t.Helper()
	within = either(within, max(within, realPatience))
	for end := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		quiet()
		if f() {
			return
		}
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", within, what)
		}
	}
}

// check fails the test over an error.
func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
