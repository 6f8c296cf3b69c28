package server_test

import (
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// leaderOtherThan waits until a host other than the old one leads the shard and is ready for sessions.
func leaderOtherThan(t *testing.T, c *servertest.Cluster, old shard.HostID) shard.HostID {
	t.Helper()
	for range 10_000 {
		if l := c.Leader(1); l != 0 && l != old && c.Host(l) != nil && c.Host(l).Ready() == nil {
			return l
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatal("no other host came to lead the shard")
	return 0
}

// attached attaches a session over another connection, retrying while the new leader gets ready.
func attached(t *testing.T, s *speaker, x *started) bool {
	t.Helper()
	for range 1000 {
		a := s.ask(&protocol.SessionAttach{SessionID: x.id, SessionSecret: []byte("key"), AttachSequence: 1})
		switch a.Result.Status {
		case protocol.StatusSuccess:
			x.s = s
			return true
		case protocol.StatusUnavailable:
			time.Sleep(20 * time.Millisecond)
		case protocol.StatusSessionExpired:
			return false
		default:
			t.Fatal(a.Result)
		}
	}
	t.Fatal("the leader was not ready in time")
	return false
}

func TestALeaderThatIsCutOffStopsAnsweringPings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		old := c.Leader(1)
		s := speak(t, c, old)
		nodeAt(t, c, "/jobs")
		a := s.session("/jobs", 2*time.Second)
		_, held := a.acquire("lock", protocol.Exclusive, 0, true)
		want(t, "outcome", held.Outcome, protocol.Acquired)
		// After the partition, the old leader answers pings only if it has answered one shortly before.
		want(t, "ping answered", s.answered(s.say(&protocol.Ping{}), time.Second), true)

		c.Isolate(old)
		cut := time.Now()
		lastPong, given := cut, time.Time{}
		ping := func() {
			sent := time.Now()
			if s.answered(s.say(&protocol.Ping{}), 200*time.Millisecond) {
				lastPong = sent
			}
		}
		other := speak(t, c, leaderOtherThan(t, c, old))
		b := other.session("/jobs", 10*time.Second)
		wanted, queued := b.acquire("lock", protocol.Exclusive, -1, true)
		want(t, "outcome", queued.Outcome, protocol.Queued)
		for until := cut.Add(20 * time.Second); time.Now().Before(until); {
			ping()
			if other.has(0, protocol.KindSessionDetached) {
				// Another leader is elected, and waits for the grace period again.
				until = time.Now().Add(20 * time.Second)
				other = speak(t, c, leaderOtherThan(t, c, old))
				want(t, "attached", attached(t, other, b), true)
				wanted, queued = b.acquire("lock", protocol.Exclusive, -1, true)
				if given.IsZero() && queued.Outcome == protocol.Acquired {
					given = time.Now()
				}
			}
			other.answered(other.say(&protocol.Ping{}), time.Second)
			if given.IsZero() && other.has(wanted, protocol.KindGranted) {
				given = time.Now()
			}
			time.Sleep(200 * time.Millisecond)
		}
		// The grace period is 10 s: after that no message from the old leader may be trusted.
		if after := lastPong.Sub(cut); after < time.Second || after > 10*time.Second {
			t.Fatalf("the old leader answered its last ping %v after it was cut off", after)
		}
		if given.IsZero() {
			t.Fatal("the lock was never given on")
		}
		// The holder believes until its timeout after the last answered ping.
		if early := lastPong.Add(2 * time.Second).Sub(given); early > 0 {
			t.Fatalf("the lock was given away %v before its holder stopped believing", early)
		}
	})
}

func TestSessionsSurviveALeaderThatDies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		nodeAt(t, c, "/jobs")
		old := c.Leader(1)
		s := speak(t, c, old)
		a := s.session("/jobs", time.Second)
		_, held := a.acquire("lock", 1, 0, true)
		c.Stop(old)
		next := leaderOtherThan(t, c, old)
		// Longer than its timeout, shorter than timeout and grace period.
		time.Sleep(8 * time.Second)
		s2 := speak(t, c, next)
		if !attached(t, s2, a) {
			t.Fatal("the session was expired though it came back within its timeout and the grace period")
		}
		_, again := a.acquire("lock", 1, 0, true)
		want(t, "order id", again.OrderID, held.OrderID)
	})
}

func TestSessionsThatDoNotComeBackExpireAfterTimeoutAndGrace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		nodeAt(t, c, "/jobs")
		old := c.Leader(1)
		s := speak(t, c, old)
		a := s.session("/jobs", time.Second)
		a.acquire("lock", protocol.Exclusive, 0, true)
		c.Stop(old)
		died := time.Now()
		other := speak(t, c, leaderOtherThan(t, c, old))
		b := other.session("/jobs", 10*time.Second)
		id, _ := b.acquire("lock", protocol.Exclusive, -1, true)
		other.keepAlive(id, protocol.KindGranted, time.Minute)
		if took := time.Since(died); took < 11*time.Second || took > 14*time.Second {
			t.Fatalf("the lock was given on after %v; timeout and grace are 11 s", took)
		}
		if attached(t, other, a) {
			t.Fatal("an expired session was attached")
		}
	})
}

func TestEverythingComesBackWhenAllHostsWereDown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3), servertest.Shards(2))
		nodeAt(t, c, "/jobs")
		s := speak(t, c, c.Leader(1))
		a := s.session("/jobs", 5*time.Second)
		x, _ := s, a
		a.acquire("lock", 1, 0, true)
		for id := shard.HostID(1); id <= 3; id++ {
			c.Stop(id)
		}
		time.Sleep(20 * time.Second) // no session's time runs without a leader
		for id := shard.HostID(1); id <= 3; id++ {
			if err := c.Restart(id); err != nil {
				t.Fatal(err)
			}
		}
		if err := c.WaitReady(30 * time.Second); err != nil {
			t.Fatal(err)
		}
		home := uint64(1)
		if shard.SessionID(a.id).Slot() >= shard.Slots/2 {
			home = 2
		}
		x = speak(t, c, c.Leader(home))
		if !attached(t, x, a) {
			t.Fatal("the session is gone")
		}
	})
}

// nodeAt creates a node at the meta leader.
func nodeAt(t *testing.T, c *servertest.Cluster, path string) uint64 {
	t.Helper()
	return speak(t, c, c.Leader(0)).node(path)
}

// answered reports whether a request is answered within a time.
func (s *speaker) answered(id uint64, limit time.Duration) bool {
	s.t.Helper()
	deadline := time.Now().Add(limit)
	for {
		payload, err := s.read(time.Until(deadline))
		if err != nil {
			return false
		}
		if a := s.decode(payload); a.ID == id && a.Kind.IsAnswer() {
			return a.Result.Status == protocol.StatusSuccess
		}
		s.kept = append(s.kept, kept{payload})
	}
}

// has reports whether a message with the id and kind has arrived.
func (s *speaker) has(id uint64, kind protocol.Kind) bool {
	for i, k := range s.kept {
		if a := s.decode(k.payload); a.ID == id && a.Kind == kind {
			s.kept = append(s.kept[:i], s.kept[i+1:]...)
			return true
		}
	}
	return false
}

// keepAlive waits for a message and pings meanwhile.
func (s *speaker) keepAlive(id uint64, kind protocol.Kind, limit time.Duration) {
	s.t.Helper()
	for until := time.Now().Add(limit); time.Now().Before(until); {
		if s.has(id, kind) {
			return
		}
		s.answered(s.say(&protocol.Ping{}), time.Second)
		time.Sleep(100 * time.Millisecond)
	}
	s.t.Fatalf("%v of request %d did not come within %v", kind, id, limit)
}

// TestASessionEndsThoughItsHostStallsAgainAndAgain: a host is repeatedly stopped for 1.2 seconds, like by SIGSTOP: only
// its clock continues.
func TestASessionEndsThoughItsHostStallsAgainAndAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const stall, every = 1200 * time.Millisecond, 9700 * time.Millisecond
		var stood atomic.Int64
		clock := func() time.Time { return time.Now().Add(time.Duration(stood.Load())) }
		c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Clock = clock }))
		dead, alive := speak(t, c, 1), speak(t, c, 1)
		dead.node("/jobs")
		a, b := dead.session("/jobs", 5*time.Second), alive.session("/jobs", 5*time.Second)
		a.acquire("lock", protocol.Exclusive, 0, true)
		id, _ := b.acquire("lock", protocol.Exclusive, -1, true)
		_ = dead.conn.Close()
		died, done := clock(), make(chan struct{})
		defer close(done)
		go func() {
			for wait := time.Second; ; wait = every - stall {
				select {
				case <-done:
					return
				case <-time.After(wait):
					stood.Add(int64(stall))
				}
			}
		}()
		alive.keepAlive(id, protocol.KindGranted, time.Minute)
		if took, most := clock().Sub(died), 5*time.Second+stall*5/4+time.Second/2; took < 5*time.Second || took > most {
			t.Fatalf("the lock was given on after %v; want it after 5 s and within %v", took, most)
		}
	})
}

// TestAHostThatNoClientNeedsIsNotInDoubt: without sessions a leader proves nothing, and lacks nothing.
func TestAHostThatNoClientNeedsIsNotInDoubt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		time.Sleep(time.Minute)
		if !c.Host(1).Status().Fresh {
			t.Fatal("a host without sessions is in doubt whether it leads")
		}
		nodeAt(t, c, "/jobs")
		speak(t, c, 1).session("/jobs", time.Minute)
		time.Sleep(30 * time.Second)
		if !c.Host(1).Status().Fresh {
			t.Fatal("a host with a session did not make sure that it leads")
		}
	})
}
