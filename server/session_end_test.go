package server_test

import (
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/clock"
)

// TestASessionWhoseClientIsGoneWhenItStartsEndsAtOnce: such a session would only hold resources until its timeout.
func TestASessionWhoseClientIsGoneWhenItStartsEndsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		s.node("/jobs")
		c.Pause(1) // nothing is committed
		s.say(&protocol.SessionStart{
			Path: []byte("/jobs"), TimeoutMillis: uint64((30 * time.Minute).Milliseconds()),
			SessionSecret: []byte("key"),
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

// TestASessionThatIsOverIsExpiredForEveryRequest: BAD_SESSION means that the session lives, and makes a client attach
// the session. A client with an ended session never gets BAD_SESSION, for any reason and any request.
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
			elsewhere.must(elsewhere.ask(&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")}))
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
					&protocol.SessionBind{SessionID: a.id, SessionSecret: []byte("key")},
				} {
					if a := s.ask(m); a.Result.Status != protocol.StatusSessionExpired {
						t.Errorf("%v: %v", m.Kind(), a.Result.Err())
					}
				}
			}
		})
	}
}

// lagging is a log that delays one data shard entry until the next barrier.
type lagging struct {
	shard.Log
	machine shard.StateMachine
	late    atomic.Pointer[shard.Entry]
}

func (l *lagging) Barrier(done func(error)) error {
	return l.Log.Barrier(func(err error) {
		if late := l.late.Swap(nil); late != nil {
			_ = l.machine.Apply([]shard.Entry{*late})
		}
		done(err)
	})
}

// TestASessionThatAHostIsYetToSeeIsNotOver: another host has applied a session's creation before the leader, as with a
// batch from an earlier leader. For any request, the leader reports the session as ended only after a barrier, based on
// its knowledge then.
func TestASessionThatAHostIsYetToSeeIsNotOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var mu sync.Mutex
		var log *lagging
		c := servertest.Start(t, servertest.Config(func(c *server.Config) {
			open := c.Logs
			c.Logs = func(id uint64, sm shard.StateMachine) (shard.Log, error) {
				l, err := open(id, sm)
				if id == 0 || err != nil {
					return l, err
				}
				mu.Lock()
				defer mu.Unlock()
				log = &lagging{Log: l, machine: sm}
				return log, nil
			}
		}))
		node := nodeAt(t, c, "/jobs")
		s := speak(t, c, 1)
		const slot = 7
		var n uint64
		once := func(ask func(id uint64) protocol.RequestMessage) protocol.Status {
			n++
			create := shard.AppendCommand(nil, &shard.Command{Kind: shard.CmdSessionCreate, Slot: slot,
				Node: shard.NodeID(node), Timeout: 60_000, Key: []byte("key")})
			batch := shard.AppendGathered(nil, 1, 1, clock.Stamp{Term: c.Host(1).ShardClock(1).Term}, 1, create)
			log.late.Store(&shard.Entry{Index: 1 << 40, Data: batch})
			status := s.ask(ask(uint64(shard.NewSessionID(slot, n)))).Result.Status
			if log.late.Load() != nil {
				t.Error("a request about a session that is not known is answered without a barrier")
			}
			return status
		}
		// A leader's self-check may apply the entry before the request arrives: then the session is known.
		ask := func(ask func(id uint64) protocol.RequestMessage) protocol.Status {
			status := once(ask)
			for range 10 {
				if status != protocol.StatusSuccess {
					break
				}
				status = once(ask)
			}
			return status
		}
		want(t, "an attach", ask(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionAttach{SessionID: id, SessionSecret: []byte("key"), AttachSequence: 1}
		}), protocol.StatusUnavailable)
		want(t, "a description", once(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionDescribe{SessionID: id}
		}), protocol.StatusSuccess)
		want(t, "a bind", once(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionBind{SessionID: id, SessionSecret: []byte("key")}
		}), protocol.StatusSuccess)
		want(t, "an end", ask(func(id uint64) protocol.RequestMessage {
			return &protocol.SessionDestroy{SessionID: id}
		}), protocol.StatusUnavailable)
		want(t, "a request without a bind", once(func(id uint64) protocol.RequestMessage {
			return &protocol.Acquire{Mutation: protocol.Mutation{SessionID: id, Sequence: 1}, NodeID: node,
				Name: []byte("a"), Count: 1}
		}), protocol.StatusBadSession)
	})
}

// TestManySessionsThatExpireTogetherEndInSteps: sessions expiring together, with holdings in another shard, are too
// many for one command. All the sessions end, and all holdings are released.
func TestManySessionsThatExpireTogetherEndInSteps(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Shards(2))
		s := speak(t, c, 1)
		s.node("/jobs")
		const sessions, each = 500, 10
		for i := range sessions {
			x := s.session("/jobs", 20*time.Minute)
			var last uint64
			for j := range each {
				last = s.say(&protocol.Acquire{
					Mutation: x.mutation(), NodeID: x.node, Name: fmt.Appendf(nil, "%d/%d", i,
						j), Count: 1, Ephemeral: true,
				})
			}
			s.must(s.await(last, protocol.KindAcquire.Answer()))
			s.kept = nil
		}
		time.Sleep(time.Second)
		want(t, "semaphores", metric(t, c, `signalbox_shard_semaphores{shard="1"}`)+metric(t, c,
			`signalbox_shard_semaphores{shard="2"}`), sessions*each)
		if err := s.conn.Close(); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20*time.Minute + 3*time.Second)
		for _, of := range []string{"sessions", "remote_sessions", "semaphores"} {
			for _, shard := range []string{"1", "2"} {
				want(t, of, metric(t, c, `signalbox_shard_`+of+`{shard="`+shard+`"}`), 0)
			}
		}
	})
}
