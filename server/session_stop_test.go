package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestNothingIsAcquiredBehindAStop: an acquire sent after its session's stop never takes effect, even if the
// semaphore's shard is faster than the session's.
func TestNothingIsAcquiredBehindAStop(t *testing.T) {
	c := servertest.Start(t, servertest.Shards(4))
	s, other := speak(t, c, 1), speak(t, c, 1)
	node := s.node("/jobs")
	const locks = 32 // enough for some in every shard
	a := s.session("/jobs", time.Minute)
	asked := []protocol.RequestMessage{&protocol.SessionStop{SessionID: a.id}}
	shards := make(map[shard.Slot]bool)
	for i := range locks {
		lock := name("lock-%d", i)
		shards[shard.SlotOf(shard.NodeID(node), lock)/(shard.Slots/4)] = true
		asked = append(asked, &protocol.Acquire{
			Mutation: a.mutation(), NodeID: node, Name: lock, Count: protocol.Exclusive, Ephemeral: true,
		})
	}
	want(t, "shards", len(shards), 4)
	watch := other.must(other.ask(&protocol.Watch{NodeID: node, Name: name("lock-%d", 0), Owners: true})).ID
	first := s.next + 1
	s.burst(asked...)
	s.must(s.await(first, protocol.KindSessionStop.Answer()))
	for i := range uint64(locks) {
		result := s.await(first+1+i, protocol.KindAcquire.Answer()).Result
		if result.Status != protocol.StatusSessionExpired {
			t.Errorf("acquire %d behind the stop: %v", i, result.Err())
		}
	}
	other.must(other.ask(&protocol.WatchStop{WatchID: watch}))
	if other.has(watch, protocol.KindWatchDelta) {
		t.Error("a lock had an owner for a moment")
	}
}

// TestWhatIsBehindAStopOfUnknownOutcomeIsSentAgain: if a stop's outcome is unknown, later requests are known to have
// had no effect, and may be sent again.
func TestWhatIsBehindAStopOfUnknownOutcomeIsSentAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
		nodeAt(t, c, "/jobs")
		leader := c.Leader(1)
		if err := c.Elect(2, leader); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // for the leader to serve both shards
		s := speak(t, c, leader)
		a := s.session("/jobs", time.Minute)
		c.Isolate(leader)
		first := s.next + 1
		s.burst(&protocol.SessionStop{SessionID: a.id},
			&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: []byte("a"), Count: 1, Ephemeral: true},
			&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: []byte("b"), Count: 1, Ephemeral: true},
			&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: []byte("c"), Count: 1, Ephemeral: true})
		stopped := s.awaitFor(first, protocol.KindSessionStop.Answer(), time.Minute).Result
		want(t, "the stop", stopped.Status, protocol.StatusUnavailable)
		for i := range uint64(3) {
			result := s.awaitFor(first+1+i, protocol.KindAcquire.Answer(), time.Minute).Result
			want(t, "behind the stop", result.Status, protocol.StatusUnavailable)
		}
	})
}

// TestASilentSessionChangesNothingMore: a session reported as silent for too long no longer acts over that connection,
// even while its end is still in progress.
func TestASilentSessionChangesNothingMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		a := s.session("/jobs", 2*time.Second)
		time.Sleep(time.Second)
		c.Pause(1) // the end is not committed
		detached := s.awaitFor(0, protocol.KindSessionDetached, time.Minute).SessionDetached
		want(t, "why", detached.Result.Status, protocol.StatusHeartbeatTimeout)
		for _, m := range []protocol.RequestMessage{
			&protocol.Acquire{Mutation: a.mutation(), NodeID: a.node, Name: []byte("a"), Count: 1, Ephemeral: true},
			&protocol.SemaphoreDescribe{NodeID: a.node, Name: []byte("a"), WatchData: true, SessionID: a.id},
			&protocol.SessionStop{SessionID: a.id},
		} {
			want(t, m.Kind().String(), s.ask(m).Result.Status, protocol.StatusBadSession)
		}
		c.Resume(1)
		want(t, "its end", s.awaitFor(0, protocol.KindSessionEnded, time.Minute).SessionEnded.Reason,
			protocol.EndExpired)
		want(t, "then", s.ask(&protocol.SessionStop{SessionID: a.id}).Result.Status, protocol.StatusSessionExpired)
	})
}

// TestADetachedSessionActsOverBoundConnectionsUntilItsEnd: a detached session acts over its bound connections until its
// end. They do not keep it alive.
func TestADetachedSessionActsOverBoundConnectionsUntilItsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
		nodeAt(t, c, "/jobs")
		home := c.Leader(1)
		if err := c.Elect(2, home%3+1); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second) // for the leaders to serve
		attached, bound := speak(t, c, home), speak(t, c, home%3+1)
		a := attached.session("/jobs", 4*time.Second) // its home is the host's own shard
		bound.must(bound.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		lock := name("lock")
		for i := 0; shard.SlotOf(shard.NodeID(a.node), lock) < shard.Slots/2; i++ {
			lock = name("lock-%d", i) // in the other shard
		}
		acquire := func() protocol.Status {
			return bound.ask(&protocol.Acquire{
				Mutation: a.mutation(), NodeID: a.node, Name: lock, Count: 1, Ephemeral: true,
			}).Result.Status
		}
		if err := attached.conn.Close(); err != nil {
			t.Fatal(err)
		}
		for range 3 {
			want(t, "while it is detached", acquire(), protocol.StatusSuccess)
			time.Sleep(time.Second)
		}
		time.Sleep(2 * time.Second)
		want(t, "why it ended", bound.await(0, protocol.KindSessionEnded).SessionEnded.Reason, protocol.EndExpired)
		want(t, "after its end", acquire(), protocol.StatusSessionExpired)
	})
}
