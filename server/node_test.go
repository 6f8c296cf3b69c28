package server_test

import (
	"bytes"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

func TestOwnersAndWaitersHearThatTheirNodeWasDropped(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a, b := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
	a.acquire("lock", protocol.Exclusive, 0, true)
	waiting, _ := b.acquire("lock", protocol.Exclusive, -1, true)
	s.must(s.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
	want(t, "why the waiter goes", s.await(waiting, protocol.KindAborted).Aborted.Result.Reason,
		protocol.AbortNodeDropped)
	want(t, "why the owner goes", s.await(0, protocol.KindHoldingLost).HoldingLost.Reason, protocol.AbortNodeDropped)
	want(t, "why the session goes", s.await(0, protocol.KindSessionEnded).SessionEnded.Reason, protocol.EndNodeDropped)
}

// TestNoSessionStartsInANodeWhoseDropWasAnswered: a host that does not know of a drop yet starts no session in the
// node. Every host refuses session starts requested after the drop's answer.
func TestNoSessionStartsInANodeWhoseDropWasAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(20 * time.Millisecond) // so that hosts learn of the drop one by one
		}))
		nodeAt(t, c, "/jobs")
		if err := c.Elect(0, c.Leader(1)%3+1); err != nil {
			t.Fatal(err)
		}
		if err := c.WaitReady(time.Minute); err != nil {
			t.Fatal(err)
		}
		operator, s := speak(t, c, c.Leader(0)), speak(t, c, c.Leader(1))
		if c.Leader(0) == c.Leader(1) {
			t.Fatal("one host leads both shards")
		}
		time.Sleep(time.Second) // for the new leader to be known everywhere
		s.session("/jobs", 10*time.Second)
		operator.must(operator.ask(&protocol.NodeDrop{Path: []byte("/jobs")}))
		start := &protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: 10_000, SessionSecret: []byte("key")}
		want(t, "a session after the drop", s.ask(start).Result.Status, protocol.StatusNotFound)
	})
}

// TestANodeIsThereForAllOnceItsCreationIsAnswered: the host asked to create a semaphore may learn of the node later
// than the client.
func TestANodeIsThereForAllOnceItsCreationIsAnswered(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(20 * time.Millisecond)
		}))
		for id, host := range map[uint64]shard.HostID{0: 1, 1: 2} {
			if err := c.Elect(id, host); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.WaitReady(20 * time.Second); err != nil {
			t.Fatal(err)
		}
		made, data := speak(t, c, c.Leader(0)), speak(t, c, c.Leader(1))
		if c.Leader(0) == c.Leader(1) {
			t.Fatal("one host leads both shards")
		}
		node := made.node("/new")
		data.must(data.ask(&protocol.SemaphoreCreate{NodeID: node, Name: []byte("sem"), Limit: 1}))

		a := data.ask(&protocol.SemaphoreCreate{NodeID: node + 1, Name: []byte("sem"), Limit: 1})
		want(t, "status in a node that there is not", a.Result.Status, protocol.StatusNotFound)
	})
}

// risen runs f with a cluster at its highest level.
func risen(t *testing.T, f func(t *testing.T, c *servertest.Cluster), options ...servertest.Option) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, options...)
		synctest.Wait()
		f(t, c)
	})
}

// TestAChangeOfANodeThatComesAgainIsAnsweredAsItWas repeats every change over another connection.
func TestAChangeOfANodeThatComesAgainIsAnsweredAsItWas(t *testing.T) {
	risen(t, func(t *testing.T, c *servertest.Cluster) {
		leader := c.Leader(0)
		s, other := speak(t, c, leader), speak(t, c, leader)
		next := uint64(1)
		number := func() protocol.Idempotency {
			return protocol.Idempotency{Client: bytes.Repeat([]byte{7}, 16), Sequence: 100 + next, Since: next}
		}
		path := []byte("/jobs")
		create := &protocol.NodeCreate{Path: path, Idempotency: number()}
		a := s.must(s.ask(create)).NodeCreate
		id := a.Node.ID
		want(t, "existed", a.Existed, false)
		want(t, "since", a.Since, next+1)
		a = other.must(other.ask(create)).NodeCreate
		want(t, "existed, the second time", a.Existed, false)
		want(t, "id, the second time", a.Node.ID, id)
		want(t, "since, the second time", a.Since, next+1)

		next++
		alter := &protocol.NodeAlter{Path: path, Config: protocol.NodeConfig{QuotaObjects: 10}, ConfigVersion: 1,
			Idempotency: number()}
		for range 2 {
			want(t, "config version", s.must(s.ask(alter)).NodeAlter.Node.ConfigVersion, 2)
			s, other = other, s
		}
		next++
		drop := &protocol.NodeDrop{Path: path, Idempotency: number()}
		for range 2 {
			want(t, "since of a drop", s.must(s.ask(drop)).NodeDrop.Since, next+1)
			s, other = other, s
		}
		next++
		drop.Idempotency = number()
		for range 2 {
			got := s.ask(drop).Result
			want(t, "a drop of nothing", got.Status, protocol.StatusNotFound)
			want(t, "since of a refusal", got.Since, next+1)
			s, other = other, s
		}
		drop.Idempotency.Client = []byte("short")
		want(t, "a client id of five bytes", s.ask(drop).Result.Status, protocol.StatusBadRequest)
		drop.Idempotency = protocol.Idempotency{Sequence: 1}
		want(t, "a number without a client", s.ask(drop).Result.Status, protocol.StatusBadRequest)
		third := unauthenticated(t, c)
		welcome := third.must(third.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1})).Welcome
		want(t, "since of a welcome", welcome.Since, next+1)
	}, servertest.Hosts(3))
}

// TestWhatCanNeverBeIsABadRequest: a request invalid in every state is answered with BAD_REQUEST in every state.
func TestWhatCanNeverBeIsABadRequest(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	node := s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	for _, m := range []protocol.RequestMessage{
		&protocol.SemaphoreCreate{NodeID: node, Limit: 1},
		&protocol.SemaphoreCreate{NodeID: node, Name: []byte("a")}, // limit 0
		&protocol.SemaphoreUpdate{NodeID: node},
		&protocol.SemaphoreDelete{NodeID: node},
		&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Count: 1},
		&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Name: []byte("a"), Ephemeral: true}, // count 0
		&protocol.Acquire{
			Mutation: a.mutation(), NodeID: node, Name: []byte("a"), Count: 1, Ephemeral: true,
			WaitMillis: protocol.MaxAcquireWaitMillis + 1,
		},
		&protocol.Release{Mutation: a.mutation(), NodeID: node},
		&protocol.SemaphoreDescribe{NodeID: node},
		&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("a"), WatchData: true}, // without a session
		&protocol.Watch{NodeID: node},
		&protocol.Watch{NodeID: node, Name: []byte("a"), View: []byte("part")}, // a semaphore has no views
		&protocol.Watch{NodeID: node, Name: []byte("a"), View: make([]byte, protocol.MaxViewBytes+1)},
		&protocol.SessionStart{Path: []byte("/jobs"), TimeoutMillis: protocol.MaxSessionTimeoutMillis + 1},
		&protocol.SessionStart{},
		&protocol.NodeCreate{},
		&protocol.NodeDescribe{},
		&protocol.NodeAlter{},
		&protocol.NodeDrop{},
	} {
		result := s.ask(m).Result
		if result.Status != protocol.StatusBadRequest {
			t.Errorf("%v: %v", m.Kind(), result.Err())
		}
		if result.Message == "" {
			t.Errorf("%v: the refusal does not say what is wrong", m.Kind())
		}
	}
	// A negative timeout is not a valid number in the protocol, and so cannot be mistaken for 0 or forever.
	payload := append([]byte{0x99, byte(protocol.KindAcquire), 77, 0, 0, 0, 1, 0xa1, 'a', 1}, 0xff)
	s.sayRaw(payload)
	refused := s.await(77, protocol.KindAcquire.Answer()).Result
	want(t, "of -1 ms", refused.Status, protocol.StatusBadRequest)
	want(t, "of -1 ms", refused.Message, "wait_ms: -1 is not a uint")
}

// TestKindsThatTheHostDoesNotKnowAreNotWatched: the client gets a refusal instead of a missing object. An answer names
// the watched kind.
func TestKindsThatTheHostDoesNotKnowAreNotWatched(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	node := s.node("/jobs")
	refused := s.ask(&protocol.Watch{NodeID: node, Name: []byte("a"), ObjectKind: 200}).Result
	want(t, "of an unknown kind", refused.Status, protocol.StatusUnsupported)
	want(t, "of an unknown kind", refused.Message, "the host does not support objects of kind OBJECT_KIND_200")
	for _, kind := range []protocol.ObjectKind{0, protocol.ObjectSemaphore} {
		answer := s.must(s.ask(&protocol.Watch{NodeID: node, Name: []byte("a"), Data: true, ObjectKind: kind}))
		want(t, "what is watched", answer.Watch.ObjectKind, kind)
	}
}
