package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/memlog"
)

// homeOf asks a host that does not lead it which shard a session lives in.
func homeOf(t *testing.T, c *servertest.Cluster, session uint64) uint64 {
	t.Helper()
	s := speak(t, c, c.Leader(1)%3+1)
	a := s.ask(&protocol.SessionAttach{SessionID: session, Key: []byte("key")})
	want(t, "attach at a host that does not lead", a.Result.Status, protocol.StatusMoved)
	return a.Result.Moved.ShardID
}

// TestNoAcquireIsQueuedWhereNoOutcomeWillBeSent: nothing is sent to a session over a connection that it was taken away
// from. So its client must not read there, after that, that it waits: it would wait for an outcome that has come.
func TestNoAcquireIsQueuedWhereNoOutcomeWillBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(20 * time.Millisecond) // so that an acquire is under way for a while
		}))
		nodeAt(t, c, "/jobs")
		leader := c.Leader(1)
		if err := c.Elect(2, leader); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // for the leader to serve both shards
		s := speak(t, c, leader)
		owner, waiter := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
		const locks = 20 // enough for some in the shard that the waiter does not live in
		for i := range locks {
			owner.acquire(string(name("lock-%d", i)), protocol.Exclusive, 0, true)
		}
		home := homeOf(t, c, waiter.id)
		asked := make(map[uint64]bool)
		for i := range locks {
			asked[s.say(&protocol.Acquire{
				Mutation: protocol.Mutation{SessionID: waiter.id, Number: uint64(i) +
					1}, NodeID: waiter.node, Name: name("lock-%d", i), Count: protocol.Exclusive,
				TimeoutMillis: protocol.Forever, Ephemeral: true,
			})] = true
		}
		synctest.Wait() // until all are proposed
		if err := c.Elect(home, leader%3+1); err != nil {
			t.Fatal(err)
		}
		detached, later := false, 0
		for len(asked) > 0 {
			payload, err := s.read(time.Minute)
			if err != nil {
				t.Fatalf("%d acquires have no answer: %v", len(asked), err)
			}
			switch a := s.decode(payload); {
			case a.Kind == protocol.KindSessionDetached && a.SessionDetached.SessionID == waiter.id:
				detached = true
			case asked[a.ID]:
				delete(asked, a.ID)
				if !detached {
					continue
				}
				later++
				if a.Result.Status == protocol.StatusSuccess {
					t.Errorf("it is told %v after it was detached", a.Acquire.Outcome)
				} else if a.Result.Status.Retry() == protocol.RetryNever {
					t.Errorf("it is told %v, and should ask again", a.Result.Status)
				}
			}
		}
		if later == 0 {
			t.Fatal("no acquire was under way when the session was detached")
		}
	})
}
