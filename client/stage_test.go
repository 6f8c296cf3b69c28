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

// stage is a cluster for a test of behaviour. The tests in behaviour_*_test.go need only this interface, so they run on
// any cluster.
type stage interface {
	addresses() string
	dial(ctx context.Context, address string) (net.Conn, error)
	// lead makes a host the leader of all shards.
	lead(host int)
	// cut breaks all connections; take stops a host, bring starts it again.
	cut()
	take(host int)
	bring(host int)
	// ready waits, if necessary, until all running hosts serve.
	ready()
	size() int
	close()
}

const (
	path = "/test/jobs"
	name = "slots"
)

// play runs a test on every stage: in a bubble of time on fake hosts and on the real server in memory, and in real time
// on real processes. A cluster of processes has one host or three, at least the requested number.
func play(t *testing.T, hosts, shards int, f func(t *testing.T, st stage, c *client.Client)) {
	t.Helper()
	playInBubbles(t, hosts, shards, f)
	for _, size := range []int{1, 3} {
		if size >= hosts {
			playOnProcesses(t, size, f)
		}
	}
}

// playOnProcesses runs a test on a cluster of processes, unless tests are short.
func playOnProcesses(t *testing.T, size int, f func(t *testing.T, st stage, c *client.Client)) {
	t.Helper()
	if testing.Short() {
		return
	}
	t.Run(fmt.Sprintf("processes=%d", size), func(t *testing.T) {
		playInRealTime[stage](t, started.stage(t, size), f)
	})
}

// playInRealTime runs a test on a stage outside a bubble.
func playInRealTime[S stage](t *testing.T, st S, f func(t *testing.T, st S, c *client.Client)) {
	t.Helper()
	inBubble = false
	defer func() { inBubble = true }()
	perform(t, st, f)
}

// playInBubbles is play without real processes, for tests that take too long in real time.
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

// perform runs a test on a stage, with a node and a client. The stage is closed after the test and its cleanups.
func perform[S stage](t *testing.T, st S, f func(t *testing.T, st S, c *client.Client)) {
	t.Helper()
	t.Cleanup(st.close)
	c := open(t, st)
	if _, err := c.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
		t.Fatal(err)
	}
	f(t, st, c)
}

// inBubble reports whether the test runs in a bubble: its time stands still while anything runs. Tests run one by one.
var inBubble = true

// quiet waits, in a bubble, until nothing runs any more.
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

// open opens a client and closes it with the test.
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

// result is the outcome of an Acquire on another goroutine.
type result struct {
	lease *client.Lease
	err   error
}

// acquiring acquires on another goroutine, and returns once the acquire is queued or over.
func acquiring(t *testing.T, ctx context.Context, s *client.Semaphore, options ...client.AcquireOption) <-chan result {
	t.Helper()
	return queueing(t, ctx, s, func(uint64) {}, options...)
}

// queueing is acquiring with a report of the place in the queue.
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
		quiet() // a silenced host settles nothing
	} else {
		<-answered
	}
	return done
}

// describe describes the tests' semaphore with all details.
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
