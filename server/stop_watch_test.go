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
		time.Sleep(time.Second) // for what is still to be opened
		want(t, "open watches", metric(t, c, `signalbox_shard_watches{shard="1"}`), 0)
	})
}

// TestAClientThatReadsSlowlyMayStopItsWatch has the client leave unread so much, or unanswered, that further requests
// are refused.
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
