package raw_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/raw"
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
	"github.com/signalbox/signalbox/server/servertest"
)

const path = "/jobs"

// rig is a cluster with a gateway. Its time moves only while all wait.
type rig struct {
	t       *testing.T
	cluster *servertest.Cluster
	*gateway
}

// gateway is one client of the cluster.
type gateway struct {
	t      *testing.T
	client *client.Client
	raw    *raw.Client
}

// play runs f with a cluster of this many hosts and shards.
func play(t *testing.T, hosts, shards int, f func(t *testing.T, r *rig)) {
	synctest.Test(t, func(t *testing.T) {
		r := &rig{t: t, cluster: servertest.Start(t, servertest.Hosts(hosts), servertest.Shards(shards))}
		r.gateway = r.another()
		if _, err := r.client.CreateNode(t.Context(), path, client.NodeConfig{}); err != nil {
			t.Fatal(err)
		}
		f(t, r)
	})
}

// another returns another gateway.
func (r *rig) another() *gateway {
	c, err := client.Open(r.t.Context(), r.cluster.Addresses(), client.WithDialer(r.cluster.Dial))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return &gateway{t: r.t, client: c, raw: raw.New(c, raw.Options{PingEvery: time.Second})}
}

// tapped is a connection that shows each request's kind before sending, and breaks if the request is not allowed.
type tapped struct {
	net.Conn
	may func(k protocol.Kind) bool
}

// Write implements net.Conn.
func (t tapped) Write(b []byte) (int, error) {
	for rest := b; len(rest) > protocol.FrameHeaderBytes+1; {
		if !t.may(protocol.Kind(rest[protocol.FrameHeaderBytes+1])) {
			_ = t.Close()
			return 0, net.ErrClosed
		}
		rest = rest[min(len(rest), protocol.FrameHeaderBytes+int(binary.BigEndian.Uint32(rest))):]
	}
	return t.Conn.Write(b)
}

// tap returns a gateway with tapped connections.
func (r *rig) tap(may func(k protocol.Kind) bool) *gateway {
	c, err := client.Open(r.t.Context(), r.cluster.Addresses(), client.WithDialer(
		func(ctx context.Context, address string) (net.Conn, error) {
			to, err := r.cluster.Dial(ctx, address)
			return tapped{to, may}, err
		}))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return &gateway{t: r.t, client: c, raw: raw.New(c, raw.Options{})}
}

// handle is a gateway's session, with its last event.
type handle struct {
	t *testing.T
	*raw.Session
	over   chan error // holds the last event
	number uint64
}

func params(sequence uint64, over chan error) raw.Params {
	return raw.Params{
		Path: path, Timeout: 15 * time.Second, Details: session.Details{Description: "a client"},
		Key: []byte("key"), Sequence: sequence,
		OnEnd: func(err error) { over <- err },
	}
}

func (g *gateway) start() *handle {
	g.t.Helper()
	over := make(chan error, 2)
	s, err := g.raw.Start(g.t.Context(), params(0, over))
	if err != nil {
		g.t.Fatal(err)
	}
	return &handle{t: g.t, Session: s, over: over}
}

func (g *gateway) attach(id, sequence uint64) *handle {
	g.t.Helper()
	over := make(chan error, 2)
	s, err := g.raw.Attach(g.t.Context(), id, params(sequence, over))
	if err != nil {
		g.t.Fatal(err)
	}
	return &handle{t: g.t, Session: s, over: over, number: sequence << 32}
}

// acquire asks for a lock and returns the outcomes in order.
func (h *handle) acquire(name string, timeout time.Duration) <-chan protocol.Kind {
	h.number++
	outcomes := make(chan protocol.Kind, 8)
	h.Ask(&protocol.Acquire{
		Mutation: protocol.Mutation{Sequence: h.number, AcknowledgedSequence: h.number - 1}, Name: []byte(name),
		Count: protocol.Exclusive, WaitMillis: uint64(timeout.Milliseconds()), Ephemeral: true,
	}, func(a *protocol.Answer, err error) {
		switch {
		case err != nil:
			outcomes <- 0
		case a.Kind == protocol.KindAcquire.Answer() && a.Result.Err() != nil:
			h.t.Errorf("acquire %s: %v", name, a.Result.Err())
		case a.Kind == protocol.KindAcquire.Answer() && a.Acquire.Outcome == protocol.Acquired:
			outcomes <- acquired
		case a.Kind == protocol.KindAcquire.Answer() && a.Acquire.Outcome == protocol.Queued:
			outcomes <- queued
		default:
			outcomes <- a.Kind
		}
	})
	return outcomes
}

// The two outcomes of an answer, as acquire returns them.
const (
	acquired = protocol.Kind(1)
	queued   = protocol.Kind(2)
)

func (h *handle) release(name string) {
	h.t.Helper()
	h.number++
	released := false
	err := h.Do(h.t.Context(), &protocol.Release{
		Mutation: protocol.Mutation{Sequence: h.number, AcknowledgedSequence: h.number - 1}, Name: []byte(name),
	}, func(a *protocol.Answer) { released = a.Release.Released }, nil)
	if err != nil || !released {
		h.t.Fatalf("release %s: %v, %v", name, released, err)
	}
}

// expect waits at most a minute of the rig's time.
func expect[T comparable](t *testing.T, from <-chan T, want T) {
	t.Helper()
	select {
	case got := <-from:
		if got != want {
			t.Fatalf("got %v, want %v", got, want)
		}
	case <-time.After(time.Minute):
		t.Fatalf("no %v came within a minute", want)
	}
}

// ends waits for the last event, an error.
func (h *handle) ends(want error) {
	h.t.Helper()
	select {
	case err := <-h.over:
		if !errors.Is(err, want) {
			h.t.Fatalf("it ended with %v, want %v", err, want)
		}
	case <-time.After(time.Minute):
		h.t.Fatalf("it did not end with %v within a minute", want)
	}
	synctest.Wait()
	if len(h.over) > 0 {
		h.t.Fatal("two last events")
	}
	if !errors.Is(h.Err(), want) {
		h.t.Fatalf("it says %v, want %v", h.Err(), want)
	}
	err := h.Do(context.Background(), &protocol.SemaphoreDescribe{Name: []byte("x")}, nil, nil)
	if !errors.Is(err, want) {
		h.t.Fatalf("a request after its end: %v, want %v", err, want)
	}
}
