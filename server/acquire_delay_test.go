package server_test

import (
	"math"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/test/memlog"
)

// syncTime is the duration of a sync in these tests: much longer than everything except waiting.
const syncTime = 100 * time.Microsecond

// everything is the count of an exclusive lock on an ephemeral semaphore.
const everything = math.MaxUint64

// rivals are two sessions on separate connections that want the same semaphore. The first owns it.
func rivals(t *testing.T, delay time.Duration) (c *servertest.Cluster, first, second *started) {
	c = servertest.Start(t,
		servertest.Config(func(c *server.Config) { c.AcquireDelay = delay }),
		servertest.Network(func(c *memlog.Config) { c.Disk = memlog.Between(syncTime, syncTime) }),
	)
	speak(t, c, 1).node("/a")
	first, second = speak(t, c, 1).session("/a", time.Minute), speak(t, c, 1).session("/a", time.Minute)
	_, a := first.acquire("lock", everything, -1, true)
	want(t, "the first acquire", a.Outcome, protocol.Acquired)
	synctest.Wait() // the host has finished
	return c, first, second
}

// batches is how many have been applied to the shard.
func batches(s *speaker) uint64 {
	s.t.Helper()
	for x := range s.must(s.ask(&protocol.HostStatus{})).HostStatus.Shards.All() {
		return x.AppliedIndex
	}
	s.t.Fatal("no shard")
	return 0
}

func (st *started) sayAcquire(timeout uint64) uint64 {
	return st.s.say(&protocol.Acquire{
		Mutation: st.mutation(), NodeID: st.node, Name: []byte("lock"), Count: everything, WaitMillis: timeout,
		Ephemeral: true,
	})
}

func (st *started) sayRelease() uint64 {
	return st.s.say(&protocol.Release{Mutation: st.mutation(), NodeID: st.node, Name: []byte("lock")})
}

// holdTime is how long each owner in a hand-off holds: less than the delay, but several exceed it.
const holdTime = server.DefaultAcquireDelay * 3 / 10

// TestAHandOffTakesOneBatch: the previous owner acquires again before the next owner releases. Both commands share a
// batch.
func TestAHandOffTakesOneBatch(t *testing.T) {
	const rounds = 10
	for delay, most := range map[time.Duration]uint64{server.DefaultAcquireDelay: rounds, -1: 2 * rounds} {
		synctest.Test(t, func(t *testing.T) {
			c, owner, next := rivals(t, delay)
			asked := next.sayAcquire(protocol.Forever)
			next.s.await(asked, protocol.KindAcquire.Answer())
			status := speak(t, c, 1)
			release := owner.sayRelease()
			before := batches(status)
			for range rounds {
				owner.s.must(owner.s.await(release, protocol.KindRelease.Answer()))
				next.s.await(asked, protocol.KindGranted)
				synctest.Wait() // the host has finished its sends
				again := owner.sayAcquire(protocol.Forever)
				time.Sleep(holdTime)
				release = next.sayRelease()
				answer := owner.s.must(owner.s.await(again, protocol.KindAcquire.Answer()))
				want(t, "the acquire of the former owner", answer.Acquire.Outcome, protocol.Queued)
				owner, next, asked = next, owner, again
			}
			owner.s.must(owner.s.await(release, protocol.KindRelease.Answer()))
			want(t, "batches", batches(status)-before, most+1)
		})
	}
}

// TestOnlyAcquiresThatWillBeQueuedAreDelayed: acquires that need not wait are not delayed.
func TestOnlyAcquiresThatWillBeQueuedAreDelayed(t *testing.T) {
	const delay = time.Second
	for what, try := range map[string]struct {
		do   func(first, second *started)
		want time.Duration
	}{
		"an acquire that will be queued": {func(_, second *started) { second.acquire("lock", everything, -1, true) },
			delay + syncTime},
		"a try": {func(_, second *started) { second.acquire("lock", everything, 0, true) },
			syncTime},
		"an acquire of what is free": {func(_, second *started) { second.acquire("other", 1, -1, true) }, syncTime},
		"an acquire by the owner": {func(first, _ *started) { first.acquire("lock", everything, -1, true) },
			syncTime},
		"one that waits, asking again": {func(_, second *started) {
			second.acquire("lock", everything, -1, true)
			second.acquire("lock", everything, 1000*time.Second, true)
		}, delay + 2*syncTime},
		"a release behind an acquire that will be queued": {func(first, second *started) {
			second.sayAcquire(protocol.Forever)
			synctest.Wait()
			first.release("lock")
		}, syncTime},
		"an acquire that will be queued behind a batch under way": {func(first, second *started) {
			first.sayAcquire(protocol.Forever)
			synctest.Wait()
			second.acquire("lock", everything, -1, true)
		}, 2 * syncTime},
	} {
		t.Run(what, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, first, second := rivals(t, delay)
				began := time.Now()
				try.do(first, second)
				want(t, what, time.Since(began), try.want)
			})
		})
	}
}

// TestDelayedAcquiresAreAnsweredWhenTheLeaderGoes: a host that loses leadership also answers delayed acquires.
func TestDelayedAcquiresAreAnsweredWhenTheLeaderGoes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3),
			servertest.Config(func(c *server.Config) { c.AcquireDelay = time.Hour }))
		leader := c.Leader(1)
		speak(t, c, leader).node("/a")
		first, second := speak(t, c, leader).session("/a", time.Minute), speak(t, c, leader).session("/a", time.Minute)
		first.acquire("lock", everything, -1, true)
		synctest.Wait() // an acquire that arrives while the batch is in flight joins the next batch, without a delay
		id := second.sayAcquire(protocol.Forever)
		synctest.Wait()
		if err := c.Elect(1, 1+leader%3); err != nil {
			t.Fatal(err)
		}
		status := second.s.await(id, protocol.KindAcquire.Answer()).Result.Status
		if status != protocol.StatusMoved && status != protocol.StatusUnavailable {
			t.Fatal(status)
		}
	})
}

// homeOf asks a non-leading host for a session's home shard.
func homeOf(t *testing.T, c *servertest.Cluster, session uint64) uint64 {
	t.Helper()
	s := speak(t, c, c.Leader(1)%3+1)
	a := s.ask(&protocol.SessionAttach{SessionID: session, SessionSecret: []byte("key")})
	want(t, "attach at a host that does not lead", a.Result.Status, protocol.StatusMoved)
	return a.Result.Moved.ShardID
}

// TestNoAcquireIsQueuedWhereNoOutcomeWillBeSent: a session gets no messages over a connection that it was detached
// from. So the client must not receive "queued" there afterwards: it would wait for an outcome that was already sent.
func TestNoAcquireIsQueuedWhereNoOutcomeWillBeSent(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2), servertest.Network(func(n *memlog.Config) {
			n.Path.Delay = memlog.Exactly(20 * time.Millisecond) // keeps an acquire in flight for a while
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
		const locks = 20 // enough for some in a shard other than the waiter's home
		for i := range locks {
			owner.acquire(string(name("lock-%d", i)), protocol.Exclusive, 0, true)
		}
		home := homeOf(t, c, waiter.id)
		asked := make(map[uint64]bool)
		for i := range locks {
			asked[s.say(&protocol.Acquire{
				Mutation: protocol.Mutation{SessionID: waiter.id, Sequence: uint64(i) +
					1}, NodeID: waiter.node, Name: name("lock-%d", i), Count: protocol.Exclusive,
				WaitMillis: protocol.Forever, Ephemeral: true,
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
