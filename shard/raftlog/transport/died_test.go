package transport

import (
	"context"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard"
)

// TestAConnectionThatEndsIsNoDeath: a peer's connections end a hundred times, as if reset by the network, and new ones
// to the peer succeed, or fail in a way other than a refusal.
func TestAConnectionThatEndsIsNoDeath(t *testing.T) {
	answering, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer answering.Close()
	var dials atomic.Int64
	e := newEndpoint(t, func(c *Config) {
		c.Dial = func(ctx context.Context, _ string) (net.Conn, error) {
			if dials.Add(1)%2 == 0 {
				return nil, &net.OpError{Op: "dial", Err: syscall.ETIMEDOUT}
			}
			return dialTCP(ctx, answering.Addr().String())
		}
	})
	for range 100 {
		e.connect(t).conn.Close()
	}
	eventually(t, "look at the peer for each connection", func() bool { return dials.Load() >= 100 })
	e.Transport.Close()
	if got := e.of().died.Load(); got != 0 {
		t.Errorf("%d deaths were seen", got)
	}
}

// TestARefusalIsADeath: once the peer's address refuses connections, the given replicas stand for election, once per
// ended connection. The first check may come before the peer has stopped listening.
func TestARefusalIsADeath(t *testing.T) {
	var dials atomic.Int64
	e := newEndpoint(t, func(c *Config) {
		c.Dial = func(context.Context, string) (net.Conn, error) {
			if dials.Add(1)%3 != 0 {
				one, other := net.Pipe()
				other.Close()
				return one, nil
			}
			return nil, fmt.Errorf("dial: %w", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED})
		}
	})
	for n := range uint64(3) {
		e.connect(t).conn.Close()
		if got := <-e.batches; len(got.Requests) != 1 || got.Requests[0].Type != raftpb.TimeoutNow ||
			got.Requests[0].Hint != n+1 {
			t.Fatalf("after death %d the engine gets %+v", n+1, got.Requests)
		}
	}
	e.Transport.Close()
	if got := e.of().died.Load(); got != 3 {
		t.Errorf("%d deaths were seen, want 3", got)
	}
}

// TestOnlyHostsOfTheBookDie: a listening or refusing address says nothing about a different directory.
func TestOnlyHostsOfTheBookDie(t *testing.T) {
	e := newEndpoint(t, func(c *Config) {
		c.Dial = func(context.Context, string) (net.Conn, error) { return nil, syscall.ECONNREFUSED }
	})
	for _, peer := range []Target{{Host: 3}, {Host: two.Host, Incarnation: one.Incarnation}} {
		e.awaitProcessEnd(&Peer{Identity: identityOf(peer)}, nil)
	}
	if got := e.of().died.Load(); got != 0 {
		t.Errorf("%d deaths were seen of hosts that are not in the book", got)
	}
	e.awaitProcessEnd(&Peer{Identity: Identity{Host: shard.HostID(2), Incarnation: two.Incarnation}}, nil)
	if got := e.of().died.Load(); got != 1 {
		t.Errorf("%d deaths were seen of the host that is", got)
	}
}

// TestAConnectedPeerIsNotDead: one check without a refusal is enough if the peer has another connection, whatever its
// address answers later. An ended connection does not count, even if not removed yet.
func TestAConnectedPeerIsNotDead(t *testing.T) {
	var dials atomic.Int64
	e := newEndpoint(t, func(c *Config) {
		c.Dial = func(context.Context, string) (net.Conn, error) {
			if dials.Add(1) == 1 {
				return nil, syscall.ETIMEDOUT
			}
			return nil, syscall.ECONNREFUSED
		}
	})
	e.connect(t)
	var accepted net.Conn
	eventually(t, "accept the connection", func() bool {
		e.mu.Lock()
		defer e.mu.Unlock()
		for conn, a := range e.accepted {
			if a.purpose == purposeFrames {
				accepted = conn
			}
		}
		return accepted != nil
	})
	for _, x := range []struct {
		what          string
		ended         net.Conn
		looks, deaths int64
	}{
		{"another connection ended", nil, 1, 0},
		{"its only connection ended", accepted, 2, 1},
	} {
		dials.Store(0)
		e.awaitProcessEnd(&Peer{Identity: identityOf(two)}, x.ended)
		if got := dials.Load(); got != x.looks {
			t.Errorf("%s: the host looked %d times, want %d", x.what, got, x.looks)
		}
		if got := e.of().died.Load(); got != x.deaths {
			t.Errorf("%s: %d deaths were seen, want %d", x.what, got, x.deaths)
		}
	}
}

// TestTheFirstFrameToAPeerThatStartedAgainArrives: a follower sends nothing to another until it stands for election, so
// its connection may have ended with the peer's earlier process.
func TestTheFirstFrameToAPeerThatStartedAgainArrives(t *testing.T) {
	e := newEndpoint(t)
	for range 20 {
		conn := e.connect(t)
		if err := conn.SendMessageBatch(goodBatch("before")); err != nil {
			t.Fatal(err)
		}
		<-e.batches
		e.mu.Lock()
		for conn := range e.conns {
			conn.Close()
		}
		e.mu.Unlock()
		eventually(t, "an end of the connection", func() bool {
			e.peer.mu.Lock()
			defer e.peer.mu.Unlock()
			return len(e.peer.dialled) == 0
		})
		if err := conn.SendMessageBatch(goodBatch("after")); err != nil {
			t.Fatal(err)
		}
		if got := <-e.batches; string(got.Requests[0].Entries[0].Cmd) != "after" {
			t.Fatalf("another message arrived: %v", got)
		}
		conn.Close()
	}
}
