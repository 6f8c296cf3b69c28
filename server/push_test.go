package server_test

import (
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// revocable grants everybody all rights until revoked.
type revocable struct{ revoked atomic.Bool }

func (r *revocable) Authenticate([]byte) (caller.Rights, string, bool) { return r, "", true }
func (r *revocable) Allows(string, string, protocol.Right) bool        { return true }
func (r *revocable) Valid() bool                                       { return !r.revoked.Load() }
func (r *revocable) Version() uint64                                   { return 0 }

func TestAConnectionEndsWithItsToken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		access := &revocable{}
		c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Access = access }))
		s := speak(t, c, 1)
		s.node("/jobs")
		access.revoked.Store(true)
		want(t, "the last word", s.closed(time.Second), protocol.StatusUnauthorized)
	})
}

func TestAWaiterIsSentToTheNewLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		nodeAt(t, c, "/jobs")
		old := c.Leader(1)
		s := speak(t, c, old)
		a, b := s.session("/jobs", 10*time.Second), s.session("/jobs", 10*time.Second)
		a.acquire("lock", 1, 0, true)
		id, queued := b.acquire("lock", protocol.Exclusive, -1, true)
		want(t, "outcome", queued.Outcome, protocol.Queued)
		next := shard.HostID(1)
		if next == old {
			next = 2
		}
		if err := c.Elect(1, next); err != nil {
			t.Fatal(err)
		}
		aborted := s.await(id, protocol.KindAborted).Aborted
		switch aborted.Result.Status {
		case protocol.StatusMoved:
			want(t, "shard", aborted.Result.Moved.ShardID, 1)
			want(t, "leader", aborted.Result.Moved.LeaderHostID, uint64(next))
			want(t, "address", aborted.Result.Moved.LeaderAddress, servertest.Address(next))
		case protocol.StatusUnavailable: // the host knew the end of its leadership before the new leader
		default:
			t.Fatal(aborted.Result)
		}
	})
}

// TestEveryHostAnnouncesWhoLeads: to every client after the client's WELCOME, once per term.
func TestEveryHostAnnouncesWhoLeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		time.Sleep(time.Second)
		old := c.Leader(1)
		var clients []*speaker
		for h := range shard.HostID(3) {
			clients = append(clients, speak(t, c, h+1))
		}
		next := old%3 + 1
		if err := c.Elect(1, next); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Second)
		for h, s := range clients {
			s.must(s.ask(&protocol.Ping{})) // after earlier pushes
			announced := 0
			for _, m := range s.routings {
				if m.LeaderHostID == uint64(next) && m.ShardID == 1 && m.Term > 1 {
					announced++
				}
			}
			want(t, fmt.Sprintf("announcements of host %d", h+1), announced, 1)
		}
	})
}

func TestAnOwnerIsNotifiedOnceOfWhatItLost(t *testing.T) {
	c := servertest.Start(t)
	first, second, operator := speak(t, c, 1), speak(t, c, 1), speak(t, c, 1)
	node := first.node("/jobs")
	a := first.session("/jobs", time.Minute)
	first.must(first.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: node, Name: []byte("sem"),
		Limit: 1}))
	a.acquire("sem", 1, 0, false)
	// First bound to a connection, then taken over by the connection.
	second.must(second.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
	second.must(second.ask(&protocol.SessionAttach{SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: 1}))
	detached := first.await(0, protocol.KindSessionDetached).SessionDetached
	want(t, "why", detached.Result.Status, protocol.StatusBadSession)

	operator.must(operator.ask(&protocol.SemaphoreDelete{NodeID: node, Name: []byte("sem"), Force: true}))
	second.await(0, protocol.KindHoldingLost)
	second.must(second.ask(&protocol.Ping{}))
	if second.has(0, protocol.KindHoldingLost) {
		t.Fatal("it was told twice")
	}
	first.must(first.ask(&protocol.Ping{}))
	if first.has(0, protocol.KindHoldingLost) {
		t.Fatal("a connection was told that the session had left")
	}
}

func TestASessionThatIsNotKnownIsOverForAnOperatorToo(t *testing.T) {
	c := servertest.Start(t)
	s := speak(t, c, 1)
	s.node("/jobs")
	want(t, "status", s.ask(&protocol.SessionDestroy{SessionID: 12345}).Result.Status, protocol.StatusSessionExpired)
}
