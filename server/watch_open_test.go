package server_test

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestWatchesAreOpenedBesideTheLoop: a loop opening a crowd's watches would delay all other requests, including locks.
func TestWatchesAreOpenedBesideTheLoop(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		node := s.node("/jobs")
		release := c.Host(1).HoldOpenings()
		watch := s.say(&protocol.Watch{NodeID: node, Name: []byte("a")})
		s.must(s.ask(&protocol.NodeDescribe{Path: []byte("/jobs")}))
		if s.has(watch, protocol.KindWatch.Answer()) || s.answered(watch, time.Second) {
			t.Error("the loop has opened a watch")
		}
		stop := s.say(&protocol.WatchStop{WatchID: watch})
		release()
		s.must(s.await(watch, protocol.KindWatch.Answer()))
		s.must(s.await(stop, protocol.KindWatchStop.Answer()))
	})
}

func TestAWatchThatIsStoppedBeforeItIsOpenDoesNotStayOpen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		node := s.must(s.ask(&protocol.NodeCreate{
			Path: []byte("/strict"), Config: protocol.NodeConfig{ReadConsistency: protocol.ConsistencyStrict},
		})).NodeCreate.Node.ID
		open := &protocol.Watch{NodeID: node, Name: []byte("sem"), Owners: true}
		for range 100 {
			watch := s.next + 1
			s.burst(open, &protocol.WatchStop{WatchID: watch}, &protocol.WatchStop{WatchID: watch})
			s.must(s.await(watch, protocol.KindWatch.Answer()))
			s.must(s.await(watch+1, protocol.KindWatchStop.Answer()))
			again := s.await(watch+2, protocol.KindWatchStop.Answer())
			want(t, "a second stop", again.Result.Status, protocol.StatusNotFound)
		}
		time.Sleep(time.Second) // for pending openings
		want(t, "open watches", metric(t, c, `signalbox_shard_watches{shard="1"}`), 0)
	})
}

// TestAClientThatReadsSlowlyMayStopItsWatch: the client leaves so much unread, or unanswered, that further requests are
// refused.
func TestAClientThatReadsSlowlyMayStopItsWatch(t *testing.T) {
	for name, paused := range map[string]bool{"for answers that it does not read": false,
		"for requests without an answer": true} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Limits.RequestsInFlight = 1000 }))
				s := speak(t, c, 1)
				describe := large(s, protocol.ConsistencyRelaxed)
				watch := s.next + 1
				s.must(s.ask(&protocol.Watch{NodeID: describe.NodeID, Name: []byte("large"), Data: true}))
				watches := func() int { return metric(t, c, `signalbox_shard_watches{shard="1"}`) }
				want(t, "open watches", watches(), 1)
				if paused {
					describe.Consistency = protocol.ConsistencyStrict
					c.Pause(1)
				}
				s.burst(slices.Repeat([]protocol.RequestMessage{describe}, 2000)...)
				synctest.Wait()
				refused := metric(t, c,
					`signalbox_requests_failed_total{kind="semaphore_describe",status="overloaded"}`)
				if refused == 0 {
					t.Fatal("no request was refused")
				}
				s.say(&protocol.WatchStop{WatchID: watch})
				synctest.Wait()
				want(t, "open watches after WATCH_STOP", watches(), 0)
				c.Resume(1)
			})
		})
	}
}

func TestAStreamingWatchShowsTheStateAndThenEveryChange(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	a := s.session("/jobs", time.Minute)
	id := s.say(&protocol.Watch{NodeID: a.node, Name: []byte("endpoints"), Owners: true, Data: true})
	s.must(s.await(id, protocol.KindWatch.Answer()))
	nothing := s.await(id, protocol.KindWatchSnapshot).WatchSnapshot
	want(t, "exists before it was made", nothing.Exists, false)

	s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: []byte("endpoints"), Limit: 10,
		Data: []byte("v1")}))
	made := s.await(id, protocol.KindWatchSnapshot).WatchSnapshot
	want(t, "exists", made.Exists, true)
	want(t, "data", string(made.Data), "v1")
	last := made.Revision

	_, owned := a.acquire("endpoints", 1, 0, false)
	joined := s.await(id, protocol.KindWatchDelta).WatchDelta
	want(t, "from", joined.From, last)
	want(t, "joined", joined.Joined.Len(), 1)
	for o := range joined.Joined.All() {
		want(t, "order id", o.OrderID, owned.OrderID)
	}
	last = joined.To
	a.release("endpoints")
	gone := s.await(id, protocol.KindWatchDelta).WatchDelta
	want(t, "from", gone.From, last)
	want(t, "gone", gone.Gone.Len(), 1)

	// Another connection continues from a revision seen before, and gets the missed changes.
	other := speak(t, c, 1)
	again := other.say(&protocol.Watch{NodeID: a.node, Name: []byte("endpoints"), Since: made.Revision, Owners: true,
		Data: true})
	other.must(other.await(again, protocol.KindWatch.Answer()))
	missed := other.await(again, protocol.KindWatchDelta).WatchDelta
	want(t, "to", missed.To, gone.To)

	s.must(s.ask(&protocol.WatchStop{WatchID: id}))
	madeUp := other.say(&protocol.Watch{NodeID: a.node, Name: []byte("endpoints"), Since: 1 << 40, Owners: true})
	end := other.await(madeUp, protocol.KindWatchEnd).WatchEnd
	want(t, "a revision that never was", end.Result.Status, protocol.StatusBadRequest)
}
