package server_test

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/session"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/test/memlog"
)

// TestAnAttachWaitsForALeaderThatHasJustBeenElected: the answer arrives once the leader serves. A refused client would
// pause, and with a million sessions such pauses were most of the time without locks.
func TestAnAttachWaitsForALeaderThatHasJustBeenElected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Hosts(3))
		before := c.Leader(1)
		operator := speak(t, c, before)
		operator.must(operator.ask(&protocol.NodeCreate{Path: []byte("/jobs")}))
		session := operator.session("/jobs", time.Minute)
		next := before%3 + 1
		client := speak(t, c, next)
		awaitThat(t, "the next leader has the session", func() bool {
			return c.Host(next).Status().Shards[0].Sessions == 1
		})
		for id := range shard.HostID(3) { // the leader serves after its first command, which takes the given time
			c.Net().SetDisk(id+1, memlog.Exactly(300*time.Millisecond))
		}
		if err := c.Elect(1, next); err != nil {
			t.Fatal(err)
		}
		elected := time.Now() // the host learns of its leadership in two steps, shortly after one another
		for sequence := uint64(2); ; sequence++ {
			a := client.ask(&protocol.SessionAttach{
				SessionID: session.id, SessionSecret: []byte("key"), AttachSequence: sequence,
			})
			switch a.Result.Status {
			case protocol.StatusMoved:
			case protocol.StatusUnavailable:
				if time.Since(elected) > 10*time.Millisecond {
					t.Fatalf("it is refused %v after the election: %v", time.Since(elected), a.Result.Err())
				}
			default:
				client.must(a)
				return
			}
			time.Sleep(time.Millisecond)
		}
	})
}

func TestAnAttachThatWasOvertakenChangesNothing(t *testing.T) {
	c := servertest.Start(t)
	first, second := speak(t, c, 1), speak(t, c, 1)
	first.node("/jobs")
	a := first.session("/jobs", time.Minute)
	attach := func(s *speaker, sequence uint64, timeout time.Duration) protocol.Status {
		return s.ask(&protocol.SessionAttach{
			SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: sequence,
			Change: true, TimeoutMillis: uint64(timeout.Milliseconds()), Details: session.Details{Description: "new"},
		}).Result.Status
	}
	want(t, "the later attach", attach(second, 5, 20*time.Second), protocol.StatusSuccess)
	want(t, "the earlier attach", attach(first, 4, time.Second), protocol.StatusBadSession)
	session := second.must(second.ask(&protocol.SessionDescribe{SessionID: a.id})).SessionDescribe.Session
	want(t, "timeout", session.TimeoutMillis, 20_000)
	want(t, "the same attach again", attach(second, 5, 20*time.Second), protocol.StatusSuccess)
}

// TestOfTwoConnectionsThatFightForASessionOneHasIt: two connections take a session from each other as fast as possible.
// The last message to each connection must be true: a client with an outdated attach would count every pong for the
// session.
func TestOfTwoConnectionsThatFightForASessionOneHasIt(t *testing.T) {
	c := servertest.Start(t)
	operator := speak(t, c, 1)
	operator.must(operator.ask(&protocol.NodeCreate{
		Path: []byte("/jobs"), Config: protocol.NodeConfig{AttachConsistency: protocol.ConsistencyRelaxed},
	}))
	a := operator.session("/jobs", time.Minute)
	rounds := 300
	if testing.Short() {
		rounds = 50
	}
	sides := [2]*speaker{speak(t, c, 1), speak(t, c, 1)}
	has := [2]bool{}
	for round := range rounds {
		var wg sync.WaitGroup
		for _, s := range sides {
			wg.Go(func() {
				for step := range 10 {
					s.burst(&protocol.SessionAttach{
						SessionID: a.id, SessionSecret: []byte("key"), AttachSequence: uint64(1 + round*10 + step),
					})
				}
			})
		}
		wg.Wait()
		// An attach may wait for a new leader's first barrier, while pongs overtake the answer. So each side first
		// reads all answers. Later pongs follow every message caused by the other side's attach.
		for i, s := range sides {
			for answers := 0; answers < 10; {
				switch m := readMessage(t, s); {
				case m.Kind == protocol.KindSessionDetached:
					has[i] = false
				case m.Kind == protocol.KindSessionAttach.Answer():
					answers++
					has[i] = has[i] || m.Result.Status == protocol.StatusSuccess
				}
			}
		}
		for i, s := range sides {
			id := s.say(&protocol.Ping{})
			for pong := false; !pong; {
				switch m := readMessage(t, s); {
				case m.Kind == protocol.KindSessionDetached:
					has[i] = false
				case m.ID == id:
					pong = true
				}
			}
		}
		if has[0] == has[1] {
			t.Fatalf("round %d: both heard the same, %v", round, has[0])
		}
		for i, s := range sides {
			status := s.ask(&protocol.Release{
				Mutation: protocol.Mutation{SessionID: a.id,
					Sequence: uint64(1 + round*2 + i)}, NodeID: a.node, Name: []byte("none"),
			}).Result.Status
			if has[i] != (status == protocol.StatusSuccess) {
				t.Fatalf("round %d: a connection that has the session is %v, and it gets %v", round, has[i], status)
			}
		}
	}
}

// readMessage returns the host's next message to s.
func readMessage(t *testing.T, s *speaker) *protocol.Answer {
	t.Helper()
	payload, err := s.read(patience)
	if err != nil {
		t.Fatal(err)
	}
	return s.decode(payload)
}
