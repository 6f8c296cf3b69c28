package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

func TestALockGoesFromOneSessionToTheNext(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a, b := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)

	_, first := a.acquire("lock", protocol.Exclusive, 0, true)
	want(t, "first", first.Outcome, protocol.Acquired)
	id, second := b.acquire("lock", protocol.Exclusive, -1, true)
	want(t, "second", second.Outcome, protocol.Queued)
	want(t, "released", a.release("lock"), true)
	granted := s.await(id, protocol.KindGranted).Granted
	if granted.OrderID != second.OrderID || granted.OrderID <= first.OrderID {
		t.Fatalf("order ids: %d, queued as %d, granted as %d", first.OrderID, second.OrderID, granted.OrderID)
	}
	want(t, "nothing left to release", a.release("lock"), false)
}

func TestAWaiterTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		a, b := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
		a.acquire("lock", 1, 0, true)
		id, answer := b.acquire("lock", protocol.Exclusive, 100*time.Millisecond, true)
		want(t, "outcome", answer.Outcome, protocol.Queued)
		s.await(id, protocol.KindTimedOut)
	})
}

func TestASilentSessionExpiresAndItsLockGoesOn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		silent, alive := speak(t, c, 1), speak(t, c, 1)
		silent.node("/jobs")
		a, b := silent.session("/jobs", 300*time.Millisecond), alive.session("/jobs", time.Minute)
		a.acquire("lock", 1, 0, true)
		id, answer := b.acquire("lock", protocol.Exclusive, -1, true)
		want(t, "outcome", answer.Outcome, protocol.Queued)
		alive.await(id, protocol.KindGranted)
		silent.await(0, protocol.KindSessionDetached)
		ended := silent.await(0, protocol.KindSessionEnded).SessionEnded
		want(t, "reason", ended.Reason, protocol.EndExpired)
		want(t, "session", ended.SessionID, a.id)
		again := silent.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key")})
		want(t, "attach", again.Result.Status, protocol.StatusSessionExpired)
	})
}

func TestASessionOutlivesItsConnection(t *testing.T) {
	c := servertest.Start(t)
	first := speak(t, c, 1)
	first.node("/jobs")
	a := first.session("/jobs", time.Minute)
	_, held := a.acquire("lock", 1, 0, true)
	_ = first.conn.Close()

	second := speak(t, c, 1)
	refused := second.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("other")})
	want(t, "with another key", refused.Result.Status, protocol.StatusBadSession)
	second.must(second.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: 1}))
	a.s = second
	// A repeated acquire is answered from the state.
	id := second.say(&protocol.Acquire{
		Mutation: protocol.Mutation{SessionID: a.id,
			Sequence: 1}, NodeID: a.node, Name: []byte("lock"), Count: 1, Ephemeral: true,
	})
	answer := second.must(second.await(id, protocol.KindAcquire.Answer())).Acquire
	want(t, "order id", answer.OrderID, held.OrderID)
	want(t, "outcome", answer.Outcome, protocol.Acquired)
}

func TestPingsAreAnsweredAndKeepSessionsAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		a := s.session("/jobs", 200*time.Millisecond)
		for range 14 {
			s.must(s.ask(&protocol.Ping{}))
			time.Sleep(50 * time.Millisecond)
		}
		_, answer := a.acquire("lock", 1, 0, true)
		want(t, "outcome", answer.Outcome, protocol.Acquired)
	})
}

func TestStoppingASessionReleasesWhatItHas(t *testing.T) {
	c := servertest.Start(t, servertest.Shards(4))
	s := speak(t, c, 1)
	s.node("/jobs")
	a, b := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	// Enough names to own something in every shard.
	for i := range 20 {
		a.acquire(string(name("lock-%d", i)), protocol.Exclusive, 0, true)
	}
	var waits []uint64
	for i := range 20 {
		id, answer := b.acquire(string(name("lock-%d", i)), protocol.Exclusive, -1, true)
		want(t, "outcome", answer.Outcome, protocol.Queued)
		waits = append(waits, id)
	}
	s.must(s.ask(&protocol.SessionStop{SessionID: a.id}))
	for _, id := range waits {
		s.await(id, protocol.KindGranted)
	}
}

func TestOneShotWatchesSayWhatChangedOnce(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("config"), Limit: 1}))
	describe := func(owners bool) uint64 {
		id := s.say(&protocol.SemaphoreDescribe{
			NodeID: a.node, Name: []byte("config"), WatchData: true, WatchOwners: owners, SessionID: a.id,
			IncludeOwners: true,
		})
		d := s.must(s.await(id, protocol.KindSemaphoreDescribe.Answer())).SemaphoreDescribe
		want(t, "watch added", d.WatchAdded, true)
		return id
	}
	first := describe(false)
	second := describe(true)
	replaced := s.await(first, protocol.KindWatchChanged).WatchChanged
	want(t, "replaced", replaced, protocol.WatchChanged{})
	a.acquire("config", 1, 0, false)
	want(t, "owners", s.await(second, protocol.KindWatchChanged).WatchChanged, protocol.WatchChanged{Owners: true})
	third := describe(true)
	s.must(s.ask(&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("config"),
		Data: []byte("v2")}))
	want(t, "data", s.await(third, protocol.KindWatchChanged).WatchChanged, protocol.WatchChanged{Data: true})
}

func TestADroppedNodeTakesItsSessionsAndSemaphoresAlong(t *testing.T) {
	c := servertest.Start(t, servertest.Shards(2))
	s := speak(t, c, 1)
	first := s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	for i := range 10 {
		a.acquire(string(name("lock-%d", i)), 1, 0, true)
	}
	s.must(s.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
	ended := s.await(0, protocol.KindSessionEnded).SessionEnded
	want(t, "reason", ended.Reason, protocol.EndNodeDropped)
	if again := s.node("/jobs"); again == first {
		t.Fatal("the new node has the old one's id")
	}
	missing := s.ask(&protocol.SessionStart{Path: []byte("/nowhere"), TimeoutMillis: 1000})
	want(t, "missing node", missing.Result.Status, protocol.StatusNotFound)
}

func TestFollowersNameTheLeader(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3))
	leader := c.Leader(1)
	follower := leader%3 + 1
	s := speak(t, c, follower)
	within(t, "that the follower knows all hosts", time.Minute, func() bool {
		return s.must(s.ask(&protocol.Routing{})).Routing.Hosts.Len() == 3
	})
	a := s.ask(&protocol.SessionAttach{SessionID: uint64(1)<<52 | 1})
	want(t, "status", a.Result.Status, protocol.StatusMoved)
	want(t, "address", a.Result.Moved.LeaderAddress, servertest.Address(leader))
	routing := s.must(s.ask(&protocol.Routing{})).Routing
	want(t, "shards", routing.Shards.Len(), 2)
}
