package client_test

import (
	"context"
	"net"
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
	close()
}

// newStage makes the cluster behind the tests of behaviour.
func newStage(t *testing.T, hosts, shards int) stage {
	if *onServer {
		return newServerStage(t, hosts, shards)
	}
	return newFakeCluster(t, hosts, shards)
}

const (
	path = "/test/jobs"
	name = "slots"
)

// play runs a test on a stage, in a bubble of time, with a node and a client.
func play(t *testing.T, hosts, shards int, f func(t *testing.T, st stage, c *client.Client)) {
	t.Helper()
	playOn(t, func(t *testing.T) stage { return newStage(t, hosts, shards) }, f)
}

func playOn[S stage](t *testing.T, stage func(t *testing.T) S, f func(t *testing.T, st S, c *client.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		st := stage(t)
		t.Cleanup(st.close)
		c := open(t, st)
		if _, err := c.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		f(t, st, c)
	})
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
	done := make(chan result, 1)
	go func() {
		lease, err := s.Acquire(ctx, options...)
		done <- result{lease, err}
	}()
	synctest.Wait()
	return done
}

// describe describes the semaphore of the tests, with everything.
func describe(t *testing.T, c *client.Client) *client.SemaphoreDetails {
	t.Helper()
	d, err := c.Node(path).Describe(t.Context(), name, client.WithOwners(), client.WithWaiters(), client.WithConsistency(client.Strict))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// eventually waits until something is true.
func eventually(t *testing.T, within time.Duration, what string, f func() bool) {
	t.Helper()
	for end := time.Now().Add(within); ; time.Sleep(5 * time.Millisecond) {
		synctest.Wait()
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
