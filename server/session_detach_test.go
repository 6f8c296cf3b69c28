package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestADetachedSessionKeepsWhatItHasForTheTimeThatIsLeft: the session's connection stays open, with its other sessions.
func TestADetachedSessionKeepsWhatItHasForTheTimeThatIsLeft(t *testing.T) {
	const timeout = 15 * time.Second
	for name, c := range map[string]struct{ left, want time.Duration }{
		"all of it":                 {0, timeout},
		"less":                      {5 * time.Second, 5 * time.Second},
		"more than its timeout":     {time.Minute, timeout},
		"the least that can be had": {time.Millisecond, time.Millisecond},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				cluster := servertest.Start(t)
				s := speak(t, cluster, 1)
				s.node("/jobs")
				a, b := s.session("/jobs", timeout), s.session("/jobs", time.Second)
				a.acquire("lock", protocol.Exclusive, 0, true)
				waits, _ := b.acquire("lock", protocol.Exclusive, -1, true)
				began := time.Now()
				s.must(s.ask(&protocol.SessionDetach{SessionID: a.id, LeftMillis: uint64(c.left.Milliseconds())}))
				want(t, "an acquire behind it", s.ask(&protocol.Acquire{
					Mutation: a.mutation(), NodeID: a.node, Name: []byte("other"), Count: 1, Ephemeral: true,
				}).Result.Status, protocol.StatusBadSession)
				s.keepAlive(waits, protocol.KindGranted, time.Minute)
				if took := time.Since(began); took < c.want || took > c.want+2*time.Second {
					t.Errorf("it was over after %v, want %v", took, c.want)
				}
			})
		})
	}
}

// TestADetachedSessionIsAttachedAgain: the announced remaining time is then void.
func TestADetachedSessionIsAttachedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		first, second := speak(t, c, 1), speak(t, c, 1)
		first.node("/jobs")
		a := first.session("/jobs", 15*time.Second)
		a.acquire("lock", protocol.Exclusive, 0, true)
		detach := &protocol.SessionDetach{SessionID: a.id, LeftMillis: 1000}
		for round, s := range []*speaker{first, second, first} {
			first.must(first.ask(detach))
			time.Sleep(900 * time.Millisecond)
			s.must(s.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"),
				AttachSequence: uint64(round + 1)}))
			if s == second {
				want(t, "over another connection", first.ask(detach).Result.Status, protocol.StatusBadSession)
				time.Sleep(10 * time.Second)
				second.must(second.ask(detach))
				first.must(first.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"),
					AttachSequence: uint64(round + 1)}))
			}
			a.s = s
		}
		time.Sleep(10 * time.Second)
		want(t, "released", a.release("lock"), true)
		first.must(first.ask(&protocol.SessionStop{SessionID: a.id}))
		want(t, "when it is over", first.ask(detach).Result.Status, protocol.StatusSessionExpired)
	})
}

// TestADetachEndsWhatWaitsOverItsConnection: the waiting acquire gets no answer over the connection, and the session
// gets its queue position back when attached.
func TestADetachEndsWhatWaitsOverItsConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s, other := speak(t, c, 1), speak(t, c, 1)
		s.node("/jobs")
		owner, a := s.session("/jobs", time.Minute), s.session("/jobs", time.Minute)
		owner.acquire("lock", protocol.Exclusive, 0, true)
		waits, queued := a.acquire("lock", protocol.Exclusive, -1, true)
		s.must(s.ask(&protocol.SessionDetach{SessionID: a.id}))
		other.must(other.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: 1}))
		a.s = other
		again, still := a.acquire("lock", protocol.Exclusive, -1, true)
		want(t, "its place", still.OrderID, queued.OrderID)
		want(t, "released", owner.release("lock"), true)
		want(t, "granted", other.awaitFor(again, protocol.KindGranted, time.Minute).Granted.OrderID, queued.OrderID)
		s.must(s.ask(&protocol.Ping{}))
		for _, k := range []protocol.Kind{protocol.KindGranted, protocol.KindAborted, protocol.KindSessionDetached} {
			if s.has(waits, k) || s.has(0, k) {
				t.Errorf("%v came over the connection that the session was taken off", k)
			}
		}
	})
}

// TestADetachOfABindingEndsThatOnly: the session stays attached, as long as its connection is active.
func TestADetachOfABindingEndsThatOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s, other := speak(t, c, 1), speak(t, c, 1)
		s.node("/jobs")
		a := s.session("/jobs", time.Minute)
		other.must(other.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
		detach := &protocol.SessionDetach{SessionID: a.id, LeftMillis: 1}
		other.must(other.ask(detach))
		want(t, "another", other.ask(detach).Result.Status, protocol.StatusBadSession)
		time.Sleep(30 * time.Second)
		if _, got := a.acquire("lock", protocol.Exclusive, 0, true); got.Outcome != protocol.Acquired {
			t.Errorf("the session is %v over the connection that it is attached over", got.Outcome)
		}
	})
}
