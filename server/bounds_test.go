package server_test

import (
	"bytes"
	"errors"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// burst writes requests in one piece, without looking at what comes back.
func (s *speaker) burst(requests ...protocol.RequestMessage) {
	s.t.Helper()
	var buf bytebufferpool.ByteBuffer
	for _, m := range requests {
		s.next++
		s.encoder.Request(&buf, s.next, m)
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(10 * time.Second))
	if _, err := s.conn.Write(buf.B); err != nil {
		s.t.Fatal(err)
	}
}

// large makes a semaphore with as much data as there may be, and returns a request for it.
func large(s *speaker, consistency protocol.Consistency) *protocol.SemaphoreDescribe {
	s.t.Helper()
	node := s.node("/jobs")
	s.must(s.ask(&protocol.SemaphoreCreate{
		NodeID: node, Name: []byte("large"), Limit: 1, Data: bytes.Repeat([]byte("x"), protocol.DefaultDataBytes),
	}))
	return &protocol.SemaphoreDescribe{NodeID: node, Name: []byte("large"), Consistency: consistency}
}

func TestAClientThatAsksForMuchAtOnceIsRefusedAndStaysConnected(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		describe := large(s, protocol.ConsistencyRelaxed)
		s.must(s.ask(describe))
		const requests = 3000 // for 190 MB of answers
		all := make([]protocol.RequestMessage, requests)
		for i := range all {
			all[i] = describe
		}
		s.burst(all...)
		answers, size := map[protocol.Status]int{}, 0
		for range requests {
			payload, err := s.read(20 * time.Second)
			if err != nil {
				t.Fatalf("after %v: %v", answers, err)
			}
			size += len(payload)
			answers[s.decode(payload).Result.Status]++
		}
		if answers[protocol.StatusSuccess] == 0 ||
			answers[protocol.StatusSuccess]+answers[protocol.StatusOverloaded] != requests {
			t.Fatal(answers)
		}
		s.must(s.ask(&protocol.Ping{}))
	})
}

func TestAClientThatReadsNothingOfWhatItWaitedForIsCutOff(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		describe := large(s, protocol.ConsistencyStrict)
		all := make([]protocol.RequestMessage, 3000)
		for i := range all {
			all[i] = describe
		}
		s.burst(all...) // all wait for a barrier: none is refused, unless it passes before all have come
		size, bursts := 0, 1
		for {
			payload, err := s.read(20 * time.Second)
			if errors.Is(err, os.ErrDeadlineExceeded) && bursts < 5 {
				s.burst(all...)
				bursts, size = bursts+1, 0
				continue
			}
			if errors.Is(err, os.ErrDeadlineExceeded) {
				t.Fatalf("the connection is still open when %d bytes have come", size)
			}
			if err != nil {
				break
			}
			if size += len(payload); size > 100<<20 {
				t.Fatalf("%d bytes came", size)
			}
		}
		other := speak(t, c, 1)
		other.must(other.ask(&protocol.Ping{}))
	})
}

func TestOneShotWatchesCountAmongTheWatchesOfAConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.Limits.Watches = 2 }))
		s := speak(t, c, 1)
		s.node("/jobs")
		a := s.session("/jobs", 10*time.Second)
		var watches [3]uint64
		leave := func(i int) protocol.Status {
			sem := name("sem-%d", i)
			watches[i] = s.say(&protocol.SemaphoreDescribe{NodeID: a.node, Name: sem, SessionID: a.id, WatchData: true})
			return s.await(watches[i], protocol.KindSemaphoreDescribe.Answer()).Result.Status
		}
		for i := range watches {
			s.must(s.ask(&protocol.SemaphoreCreate{Mutation: a.mutation(), NodeID: a.node, Name: name("sem-%d", i),
				Limit: 1}))
		}
		want(t, "the first", leave(0), protocol.StatusSuccess)
		want(t, "the second", leave(1), protocol.StatusSuccess)
		want(t, "one too many", leave(2), protocol.StatusOverloaded)
		s.must(s.ask(&protocol.SemaphoreUpdate{Mutation: a.mutation(), NodeID: a.node, Name: name("sem-0"),
			Data: []byte("new")}))
		s.await(watches[0], protocol.KindChanged)
		want(t, "in the place of one that was told", leave(2), protocol.StatusSuccess)
		want(t, "another one", leave(0), protocol.StatusOverloaded)
		s.must(s.ask(&protocol.SessionStop{SessionID: a.id}))
		b := s.session("/jobs", 10*time.Second)
		a.id = b.id
		want(t, "in the place of those of a session that ended", leave(0), protocol.StatusSuccess)
	})
}

func TestAPageOfNodesFitsIntoAFrame(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s := speak(t, c, 1)
		const nodes = 400
		long := "/" + strings.Repeat(strings.Repeat("n", 100)+"/", 9)
		for i := range nodes {
			s.node(long + string(name("%03d", i)))
		}
		found, after := 0, []byte(nil)
		for {
			id := s.say(&protocol.NodeList{After: after})
			payload, err := s.read(10 * time.Second)
			if err != nil {
				t.Fatal(err)
			}
			if len(payload) > protocol.PageBytes+2048 {
				t.Fatalf("a page of %d bytes", len(payload))
			}
			a := s.must(s.decode(payload))
			want(t, "id", a.ID, id)
			found += a.NodeList.Nodes.Len()
			if len(a.NodeList.Next) == 0 {
				break
			}
			after = bytes.Clone(a.NodeList.Next)
		}
		want(t, "nodes", found, nodes)
	})
}

func TestWhatWasAskedBeforeGarbageIsNotLeftLying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		s, other := speak(t, c, 1), speak(t, c, 1)
		node := other.node("/jobs")
		var buf bytebufferpool.ByteBuffer
		s.encoder.Request(&buf, 100, &protocol.SemaphoreCreate{NodeID: node, Name: []byte("sem"), Limit: 1})
		if _, err := s.conn.Write(append(buf.B, 0, 0, 0, 0)); err != nil {
			t.Fatal(err)
		}
		want(t, "the last word", s.closed(5*time.Second), protocol.StatusBadRequest)
		time.Sleep(time.Second) // for what was asked
		other.must(other.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("sem"),
			Consistency: protocol.ConsistencyStrict}))
	})
}
