package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// TestASessionActsInNoNodeButItsOwn: only a session's home knows the session's node; other shards rely on the host for
// the node.
func TestASessionActsInNoNodeButItsOwn(t *testing.T) {
	c := servertest.Start(t, servertest.Shards(4))
	s := speak(t, c, 1)
	s.node("/jobs")
	other := s.node("/other")
	a := s.session("/jobs", time.Minute)
	asked := map[bool]int{}
	for i := range 32 {
		sem := name("lock-%d", i)
		status := s.ask(&protocol.Acquire{
			Mutation: a.mutation(), NodeID: other, Name: sem, Count: 1, Ephemeral: true,
		}).Result.Status
		want(t, "status", status, protocol.StatusBadSession)
		asked[shard.SlotOf(shard.NodeID(other), sem)/(shard.Slots/4) == shard.SessionID(a.id).Slot()/(shard.Slots/4)]++
	}
	if asked[true] == 0 || asked[false] == 0 {
		t.Fatalf("at home and elsewhere were asked %v", asked)
	}
}

// TestAnAttachIsAsSureAsTheNodeAsks: a partitioned host believes for a while that it leads, and may rely on an earlier
// barrier. A STRICT attach must not.
func TestAnAttachIsAsSureAsTheNodeAsks(t *testing.T) {
	for consistency, attaches := range map[protocol.Consistency]bool{
		protocol.ConsistencyStrict: false, protocol.ConsistencyRelaxed: true,
	} {
		synctest.Test(t, func(t *testing.T) {
			c := servertest.Start(t, servertest.Hosts(3))
			maker := speak(t, c, c.Leader(0))
			maker.must(maker.ask(&protocol.NodeCreate{
				Path: []byte("/jobs"), Config: protocol.NodeConfig{AttachConsistency: consistency},
			}))
			old := c.Leader(1)
			a := speak(t, c, old).session("/jobs", 20*time.Second)
			second := speak(t, c, old)
			second.must(second.ask(&protocol.Ping{}))
			time.Sleep(3 * time.Second) // for a self-check with the session in the books
			c.Isolate(old)
			id := second.say(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: 1})
			want(t, "attached by "+consistency.String(), second.answered(id, 30*time.Second), attaches)
		})
	}
}

func TestASessionOfNoTimeoutEndsWithItsConnection(t *testing.T) {
	c := servertest.Start(t)
	first, second := speak(t, c, 1), speak(t, c, 1)
	first.node("/jobs")
	a, b := first.session("/jobs", 0), second.session("/jobs", time.Minute)
	a.acquire("lock", protocol.Exclusive, 0, true)
	id, queued := b.acquire("lock", protocol.Exclusive, -1, true)
	want(t, "outcome", queued.Outcome, protocol.Queued)
	_ = first.conn.Close()
	second.await(id, protocol.KindGranted)
}

func TestOnlyTheConnectionOfASessionEndsIt(t *testing.T) {
	c := servertest.Start(t)
	first, second := speak(t, c, 1), speak(t, c, 1)
	first.node("/jobs")
	a := first.session("/jobs", time.Minute)
	stop := func(s *speaker) protocol.Status { return s.ask(&protocol.SessionStop{SessionID: a.id}).Result.Status }
	bind := func(key string) protocol.Status {
		return second.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte(key)}).Result.Status
	}
	want(t, "of a stranger", stop(second), protocol.StatusBadSession)
	want(t, "bind with another key", bind("other"), protocol.StatusBadSession)
	want(t, "of a stranger still", stop(second), protocol.StatusBadSession)
	want(t, "bind", bind("key"), protocol.StatusSuccess)
	want(t, "over a connection that it is bound to", stop(second), protocol.StatusBadSession)
	want(t, "over its own", stop(first), protocol.StatusSuccess)
	second.await(0, protocol.KindSessionEnded)
}

// TestTheOtherSessionsOfAConnectionOutliveOneThatWasEnded: after a connection's client was notified of a lost session,
// its remaining sessions live on.
func TestTheOtherSessionsOfAConnectionOutliveOneThatWasEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s, operator := speak(t, c, 1), speak(t, c, 1)
		s.node("/jobs")
		a, b := s.session("/jobs", 2*time.Second), s.session("/jobs", 2*time.Second)
		operator.must(operator.ask(&protocol.SessionDestroy{SessionID: a.id}))
		s.await(0, protocol.KindSessionEnded)
		for range 10 {
			s.must(s.ask(&protocol.Ping{}))
			time.Sleep(time.Second)
		}
		_, held := b.acquire("lock", protocol.Exclusive, 0, true)
		want(t, "outcome", held.Outcome, protocol.Acquired)
	})
}
