package server_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
)

// TestASessionWhoseClientIsGoneWhenItStartsEndsAtOnce: a session that is made when its client has gone would only be in
// the way until its timeout.
func TestASessionWhoseClientIsGoneWhenItStartsEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		c.Pause(1) // nothing is committed
		s.say(&protocol.SessionStart{
			Path: []byte("/jobs"), TimeoutMillis: uint64((30 * time.Minute).Milliseconds()), Key: []byte("key"),
		})
		synctest.Wait()
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		synctest.Wait()
		c.Resume(1)
		time.Sleep(5 * time.Second)
		want(t, "sessions that ended", metric(t, c, `signalbox_sessions_ended_total{reason="stopped"}`), 1)
		want(t, "sessions", metric(t, c, `signalbox_shard_sessions{shard="1"}`), 0)
	})
}

// TestASessionThatIsOverIsExpiredForEveryRequest: BAD_SESSION says that the session lives, and makes a client attach
// it. One that is over never gets it, whatever ended it and whichever request comes.
func TestASessionThatIsOverIsExpiredForEveryRequest(t *testing.T) {
	c := servertest.Start(t, servertest.Hosts(3))
	node := nodeAt(t, c, "/jobs")
	leader := c.Leader(1)
	for how, end := range map[string]func(a *started){
		"destroyed": func(a *started) {
			other := speak(t, c, leader)
			other.must(other.ask(&protocol.SessionDestroy{SessionID: a.id}))
		},
		"stopped": func(a *started) { a.s.must(a.s.ask(&protocol.SessionStop{SessionID: a.id})) },
	} {
		t.Run(how, func(t *testing.T) {
			a := speak(t, c, leader).session("/jobs", time.Minute)
			elsewhere := speak(t, c, leader%3+1)
			elsewhere.must(elsewhere.ask(&protocol.SessionBind{SessionID: a.id, Key: []byte("key")}))
			end(a)
			for _, s := range []*speaker{a.s, elsewhere} {
				s.await(0, protocol.KindSessionEnded)
				for _, m := range []protocol.RequestMessage{
					&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: node, Name: []byte("a"), Limit: 1},
					&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: node, Name: []byte("a")},
					&protocol.SemaphoreDelete{Mutation: a.mutation(), NodeID: node, Name: []byte("a")},
					&protocol.Acquire{Mutation: a.mutation(), NodeID: node, Name: []byte("a"), Count: 1},
					&protocol.Release{Mutation: a.mutation(), NodeID: node, Name: []byte("a")},
					&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("a"), WatchData: true, SessionID: a.id},
					&protocol.SessionStop{SessionID: a.id},
					&protocol.SessionBind{SessionID: a.id, Key: []byte("key")},
				} {
					if a := s.ask(m); a.Result.Status != protocol.StatusSessionExpired {
						t.Errorf("%v: %v", m.Kind(), a.Result.Err())
					}
				}
			}
		})
	}
}
