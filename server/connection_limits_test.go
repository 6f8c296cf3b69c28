package server_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server"
	"github.com/signalbox/signalbox/server/servertest"
)

// burst writes requests in one piece, without reading answers.
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

// large creates a semaphore with the maximum data size, and returns a request to describe it.
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
		s.burst(all...) // all wait for a barrier: none is refused, unless the barrier passes before all have arrived
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
		s.await(watches[0], protocol.KindWatchChanged)
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
		time.Sleep(time.Second) // time for the requests
		other.must(other.ask(&protocol.SemaphoreDescribe{NodeID: node, Name: []byte("sem"),
			Consistency: protocol.ConsistencyStrict}))
	})
}

// metric reads a host's series, 0 if missing.
func metric(t *testing.T, c *servertest.Cluster, series string) int {
	t.Helper()
	var out bytes.Buffer
	c.Host(1).WriteMetrics(&out)
	found := regexp.MustCompile(`(?m)^` + regexp.QuoteMeta(series) + ` (\S+)$`).FindSubmatch(out.Bytes())
	if found == nil {
		return 0
	}
	v, err := strconv.ParseFloat(string(found[1]), 64)
	if err != nil {
		t.Fatal(err)
	}
	return int(v)
}

func TestWhatWaitsForAllClientsTogetherIsBounded(t *testing.T) {
	const limit, clients, requests = 20 << 20, 8, 120 // 64 KiB each: no client exceeds its own limit
	for name, consistency := range map[string]protocol.Consistency{
		"of what is answered at once": protocol.ConsistencyRelaxed, // and is refused
		"of what comes later":         protocol.ConsistencyStrict,  // and accepted requests can no longer be refused
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.PendingBytes = limit }))
				reader := speak(t, c, 1)
				describe := large(reader, protocol.ConsistencyRelaxed)
				many := make([]protocol.RequestMessage, requests)
				for i := range many {
					asked := *describe
					asked.Consistency = consistency
					many[i] = &asked
				}
				done := metric(t, c, `signalbox_requests_total{kind="semaphore_describe"}`)
				for range clients {
					speak(t, c, 1).burst(many...)
				}
				time.Sleep(time.Second) // time for later answers
				synctest.Wait()
				asked := metric(t, c, `signalbox_requests_total{kind="semaphore_describe"}`) - done
				refused := metric(t, c,
					`signalbox_requests_failed_total{kind="semaphore_describe",status="overloaded"}`)
				cut := metric(t, c, `signalbox_connections_closed_total{reason="slow_reader"}`)
				pending := metric(t, c, "signalbox_output_buffer_bytes")
				if asked+cut*requests < clients*requests { // a disconnected client's requests may never be read
					t.Errorf("%d of %d requests were read, and %d clients were cut off", asked, clients*requests, cut)
				}
				if pending > limit {
					t.Errorf("%d bytes wait, and %d may", pending, limit)
				}
				// Later requests may all be accepted before the first answer, or the last may be refused.
				want(t, "requests are refused, or clients cut off", refused > 0 ||
					consistency == protocol.ConsistencyStrict && cut > 0, true)
				// A client that reads is served throughout.
				reader.must(reader.ask(describe))
			})
		})
	}
}

// sendPart sends a frame header and part of its payload.
func (s *speaker) sendPart(announced, sent int) {
	s.t.Helper()
	frame := binary.BigEndian.AppendUint32(nil, uint32(announced))
	if _, err := s.conn.Write(append(frame, make([]byte, sent)...)); err != nil {
		s.t.Fatal(err)
	}
}

func TestAFrameBeforeTheHelloIsShort(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := servertest.Start(t)
		began := time.Now()
		long := unauthenticated(t, c)
		long.sendPart(protocol.HelloFrameBytes+1, 0)
		want(t, "of a longer one", long.closed(time.Minute), protocol.StatusBadRequest)
		want(t, "waited", time.Since(began), 0)
		// The longest possible HELLO fits.
		s := unauthenticated(t, c)
		s.must(s.ask(&protocol.Hello{
			VersionMin: 1, VersionMax: 1, ClientName: make([]byte, protocol.MaxClientNameBytes),
			ClientVersion: make([]byte, protocol.MaxVersionBytes), Token: make([]byte, protocol.MaxTokenBytes),
		}))
		// Afterwards the WELCOME's limit applies.
		s.sendPart(protocol.HelloFrameBytes+1, 10)
		synctest.Wait()
		want(t, "bytes held", metric(t, c, "signalbox_input_buffer_bytes"), protocol.FrameHeaderBytes+10)
		_ = s.conn.Close()
		synctest.Wait()
		want(t, "bytes held of a connection that is gone", metric(t, c, "signalbox_input_buffer_bytes"), 0)
	})
}

func TestFramesInPartShareABudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const limit, clients, size = 1 << 20, 100, 60 << 10
		c := servertest.Start(t, servertest.Config(func(c *server.Config) { c.PartialBytes = limit }))
		small := speak(t, c, 1)
		small.sendPart(100_000, 1000)
		var large []*speaker
		for i := range clients {
			s := speak(t, c, 1)
			if i == 0 {
				s.sendPart(100_000, size+1) // the first to be disconnected
			} else {
				s.sendPart(100_000, size)
			}
			large = append(large, s)
			synctest.Wait()
			if held := metric(t, c, "signalbox_input_buffer_bytes"); held > limit {
				t.Fatalf("%d bytes are held, and %d may be", held, limit)
			}
		}
		cut := metric(t, c, `signalbox_connections_closed_total{reason="input_buffer_full"}`)
		if least := clients - limit/size; cut < least {
			t.Errorf("%d connections were closed, and %d must be", cut, least)
		}
		want(t, "the last word", large[0].closed(time.Second), protocol.StatusOverloaded)
		// A client with few bytes stays connected, and its frame is read when the rest arrives.
		if _, err := small.conn.Write(make([]byte, 99_000)); err != nil {
			t.Fatal(err)
		}
		want(t, "a frame of zeros", small.closed(time.Second), protocol.StatusBadRequest)
	})
}
