package transport

import (
	"context"
	"net"
	"slices"
	"testing"
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
		conn.conn.Close() // as if the other host had started again
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
	// A context that ends is heeded at once.
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if conn, err := e.peer.GetConnection(ctx, one.String()); err == nil {
		conn.Close()
		t.Fatal("a connection to nobody")
	}
}

func TestOnlyForwardedBatchesPassBetweenHosts(t *testing.T) {
	stray := raftpb.Entry{Type: raftpb.EncodedEntry, ClientID: 123456789, Cmd: []byte("stray")}
	meant := raftpb.Entry{Type: raftpb.EncodedEntry, ClientID: ForwarderID, Cmd: []byte("forwarded")}
	change := raftpb.Entry{Type: raftpb.ConfigChangeEntry} // is proposed where the leader is
	committed := raftpb.Message{Type: raftpb.Replicate, Entries: []raftpb.Entry{stray, meant, change}}
	given := []raftpb.Message{
		{Type: raftpb.Heartbeat},
		{Type: raftpb.Propose, Entries: []raftpb.Entry{stray}},
		committed,
		{Type: raftpb.Propose, Entries: []raftpb.Entry{stray, meant, stray, change}},
	}
	if i := slices.IndexFunc(given, hasEngineForward); i != 1 {
		t.Errorf("the first message with a stray batch is %d, want 1", i)
	}
	kept := withoutEngineForwards(given)
	if len(kept) != 3 || kept[0].Type != raftpb.Heartbeat || len(kept[1].Entries) != 3 {
		t.Fatalf("kept %v", kept)
	}
	if e := kept[2].Entries; len(e) != 1 || string(e[0].Cmd) != "forwarded" {
		t.Errorf("kept %v of a mixed message", e)
	}
	if string(given[3].Entries[0].Cmd) != "stray" || len(given[3].Entries) != 4 {
		t.Error("the given messages were changed")
	}
}
