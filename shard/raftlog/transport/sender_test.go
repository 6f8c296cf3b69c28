package transport

import (
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/internal/subprocess"
)

func TestAMessageOverAConnectionThatHasGoneIsSentOverANewOne(t *testing.T) {
	e := newEndpoint(t)
	conn := e.connect(t)
	for _, data := range []string{"before", "after"} {
		if err := conn.SendMessageBatch(goodBatch(data)); err != nil {
			t.Fatal(err)
		}
		if got := <-e.batches; string(got.Requests[0].Entries[0].Cmd) != data {
			t.Fatalf("have %q, want %q", got.Requests[0].Entries[0].Cmd, data)
		}
		conn.conn.Close() // as if the other host had restarted
	}
}

func TestAHostThatStartsAgainIsFoundBeforeTheEngineGetsAnError(t *testing.T) {
	e := newEndpoint(t)
	e.peer.redialFor = patience
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	address := ports.Addresses[0]
	e.peer.SetHosts([]Host{{ID: 1, Incarnation: one.Incarnation, Address: address}})
	found := make(chan error, 1)
	go func() {
		conn, err := e.peer.GetConnection(context.Background(), one.String())
		if err == nil {
			conn.Close()
		}
		found <- err
	}()
	time.Sleep(2 * redialEvery) // at least one attempt has failed by now
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	started := newEndpoint(t, func(c *Config) {
		c.Listener.Close()
		c.Listener = again
	})
	if err := <-found; err != nil {
		t.Fatal(err)
	}
	started.Close()
	// An ended context takes effect at once.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if conn, err := e.peer.GetConnection(ctx, one.String()); err == nil {
		conn.Close()
		t.Fatal("a connection to nobody")
	}
}

// TestProposalsAreNotSent: after a lost leadership, the engine forwards pending batches to the new leader. The sender
// drops them.
func TestProposalsAreNotSent(t *testing.T) {
	s, far := pipedSender(t, context.Background())
	given := []raftpb.Message{{Type: raftpb.Propose}, {Type: raftpb.Heartbeat}, {Type: raftpb.Propose}}
	var sent []raftpb.Message
	s.sending = func(messages []raftpb.Message) { sent = append(sent, messages...) }
	go func() { _, _ = io.Copy(io.Discard, far) }()
	for _, batch := range [][]raftpb.Message{given, given[:1]} {
		if err := s.SendMessageBatch(raftpb.MessageBatch{Requests: batch}); err != nil {
			t.Fatal(err)
		}
	}
	if len(sent) != 1 || sent[0].Type != raftpb.Heartbeat {
		t.Errorf("sent %v", sent)
	}
	if given[0].Type != raftpb.Propose || given[1].Type != raftpb.Heartbeat {
		t.Error("the given messages were changed")
	}
}

// pipedSender sends into a pipe, and returns its other end.
func pipedSender(t *testing.T, ctx context.Context) (s *sender, far net.Conn) {
	near, far := net.Pipe()
	t.Cleanup(func() { far.Close() })
	s = newSender(ctx, &dialled{conn: near, close: func() { near.Close() }})
	s.sending = func([]raftpb.Message) {}
	return s, far
}

// TestALongFrameIsSentOverASlowLine: the peer reads continuously, and the whole frame takes longer than the read
// timeout.
func TestALongFrameIsSentOverASlowLine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, far := pipedSender(t, context.Background())
		const perSecond = 64 << 10
		go func() {
			for buffer := make([]byte, perSecond); ; time.Sleep(time.Second) {
				if _, err := io.ReadFull(far, buffer); err != nil {
					return
				}
			}
		}()
		began := time.Now()
		err := s.SendMessageBatch(goodBatch(strings.Repeat("x", 4*perSecond*int(writeTimeout/time.Second))))
		if took := time.Since(began); err != nil || took < 3*writeTimeout {
			t.Errorf("after %v: %v", took, err)
		}
		s.Close()
	})
}

// TestWhatIsBeingSentEndsWithTheEngine: even if the peer reads nothing.
func TestWhatIsBeingSentEndsWithTheEngine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(context.Background())
		s, _ := pipedSender(t, ctx)
		began, sent := time.Now(), make(chan error, 1)
		go func() { sent <- s.SendMessageBatch(goodBatch("of an engine that closes")) }()
		synctest.Wait()
		cancel()
		if err := <-sent; err == nil || time.Since(began) != 0 {
			t.Errorf("after %v: %v", time.Since(began), err)
		}
	})
}

// TestAHostThatIsAwayForLongIsReachedAtOnceWhenItIsBack: messages to it meanwhile are dropped, and the engine, which
// would not dial for a while after an error, gets no error.
func TestAHostThatIsAwayForLongIsReachedAtOnceWhenItIsBack(t *testing.T) {
	e := newEndpoint(t)
	e.peer.redialFor = 0
	ports, err := subprocess.ReservePorts(1)
	if err != nil {
		t.Fatal(err)
	}
	defer ports.Close()
	address := ports.Addresses[0]
	e.peer.SetHosts([]Host{{ID: 1, Incarnation: one.Incarnation, Address: address}})
	conn, err := e.peer.GetConnection(context.Background(), one.String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.SendMessageBatch(goodBatch("lost")); err != nil {
		t.Fatal(err)
	}
	again, err := net.Listen("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	back := newEndpoint(t, func(c *Config) {
		c.Listener.Close()
		c.Listener = again
	})
	eventually(t, "a message that arrives", func() bool {
		if err := conn.SendMessageBatch(goodBatch("found")); err != nil {
			t.Fatal(err)
		}
		return len(back.batches) > 0
	})
	if got := <-back.batches; string(got.Requests[0].Entries[0].Cmd) != "found" {
		t.Errorf("%q arrived, which was sent while the host was away", got.Requests[0].Entries[0].Cmd)
	}
}
