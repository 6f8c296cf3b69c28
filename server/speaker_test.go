package server_test

import (
	"context"
	"fmt"
	"net"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/servertest"
	"github.com/signalbox/signalbox/shard"
)

// patience is the time limit for anything that must eventually happen.
const patience = time.Minute

// speaker is a minimal protocol client: it sends and receives messages, nothing else.
type speaker struct {
	t       *testing.T
	conn    net.Conn
	encoder *protocol.Encoder
	decoder *protocol.AnswerDecoder
	in      []byte
	next    uint64
	kept    []kept // messages received while another was awaited
	// routings are the received routing changes.
	routings []protocol.RoutingChanged
}

// kept is a message with its own bytes.
type kept struct {
	payload []byte
}

// speak connects to a host and says hello.
func speak(t *testing.T, c *servertest.Cluster, id shard.HostID) *speaker {
	t.Helper()
	conn, err := c.Dial(context.Background(), servertest.Address(id))
	if err != nil {
		t.Fatal(err)
	}
	s := speakOver(t, conn)
	s.must(s.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, ClientName: []byte("speaker"),
		ClientVersion: []byte("7.1")}))
	return s
}

func speakOver(t *testing.T, conn net.Conn) *speaker {
	t.Cleanup(func() { _ = conn.Close() })
	return &speaker{t: t, conn: conn, encoder: protocol.NewEncoder(), decoder: protocol.NewAnswerDecoder()}
}

// say sends a request and returns its id.
func (s *speaker) say(m protocol.RequestMessage) uint64 {
	s.t.Helper()
	s.next++
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	s.encoder.Request(buf, s.next, m)
	_ = s.conn.SetWriteDeadline(time.Now().Add(patience))
	if _, err := s.conn.Write(buf.B); err != nil {
		s.t.Fatal(err)
	}
	return s.next
}

// ask sends a request and waits for its answer.
func (s *speaker) ask(m protocol.RequestMessage) *protocol.Answer {
	s.t.Helper()
	return s.await(s.say(m), m.Kind().Answer())
}

// await waits for a message with the id and kind; others are kept.
func (s *speaker) await(id uint64, kind protocol.Kind) *protocol.Answer {
	s.t.Helper()
	return s.awaitFor(id, kind, patience)
}

// awaitFor is await with an explicit limit.
func (s *speaker) awaitFor(id uint64, kind protocol.Kind, limit time.Duration) *protocol.Answer {
	s.t.Helper()
	for i, k := range s.kept {
		if a := s.decode(k.payload); a.ID == id && a.Kind == kind {
			s.kept = append(s.kept[:i], s.kept[i+1:]...)
			return a
		}
	}
	for {
		payload, err := s.read(limit)
		if err != nil {
			s.t.Fatalf("waiting for %v of request %d: %v", kind, id, err)
		}
		if a := s.decode(payload); a.ID == id && a.Kind == kind {
			return a
		}
		s.kept = append(s.kept, kept{payload})
	}
}

func (s *speaker) decode(payload []byte) *protocol.Answer {
	s.t.Helper()
	a, err := s.decoder.Decode(payload)
	if err != nil {
		s.t.Fatal(err)
	}
	return a
}

// read returns the payload of the next frame, skipping pushed routing changes.
func (s *speaker) read(limit time.Duration) ([]byte, error) {
	_ = s.conn.SetReadDeadline(time.Now().Add(limit))
	for {
		payload, size, err := protocol.ScanFrame(s.in, 8<<20)
		if err != nil {
			return nil, err
		}
		if payload != nil {
			out := append([]byte(nil), payload...)
			s.in = s.in[size:]
			if len(out) > 1 && out[1] == byte(protocol.KindRoutingChanged) {
				s.routings = append(s.routings, s.decode(out).RoutingChanged)
				continue
			}
			return out, nil
		}
		chunk := make([]byte, 64<<10)
		n, err := s.conn.Read(chunk)
		if n == 0 && err != nil {
			return nil, err
		}
		s.in = append(s.in, chunk[:n]...)
	}
}

// must fails the test unless the answer is a success.
func (s *speaker) must(a *protocol.Answer) *protocol.Answer {
	s.t.Helper()
	if err := a.Result.Err(); err != nil {
		s.t.Fatalf("%v: %v", a.Kind, err)
	}
	return a
}

// node creates a node and returns its id.
func (s *speaker) node(path string) uint64 {
	s.t.Helper()
	return s.must(s.ask(&protocol.NodeCreate{Path: []byte(path)})).NodeCreate.Node.ID
}

// started is a session of a speaker.
type started struct {
	s      *speaker
	id     uint64
	node   uint64
	number uint64
}

// session starts a session.
func (s *speaker) session(path string, timeout time.Duration) *started {
	s.t.Helper()
	a := s.must(s.ask(&protocol.SessionStart{
		Path: []byte(path), TimeoutMillis: uint64(timeout.Milliseconds()), SessionSecret: []byte("key"),
	}))
	return &started{s: s, id: a.SessionStart.SessionID, node: a.SessionStart.Lease.NodeID}
}

func (st *started) mutation() protocol.Mutation {
	st.number++
	return protocol.Mutation{SessionID: st.id, Sequence: st.number, AcknowledgedSequence: st.number - 1}
}

// acquire asks for a semaphore and returns the answer.
func (st *started) acquire(name string, count uint64, timeout time.Duration, ephemeral bool) (uint64,
	protocol.AcquireAnswer) {
	st.s.t.Helper()
	millis := uint64(timeout.Milliseconds())
	if timeout < 0 {
		millis = protocol.Forever
	}
	id := st.s.say(&protocol.Acquire{
		Mutation: st.mutation(), NodeID: st.node, Name: []byte(name), Count: count, WaitMillis: millis,
		Ephemeral: ephemeral,
	})
	return id, st.s.must(st.s.await(id, protocol.KindAcquire.Answer())).Acquire
}

func (st *started) release(name string) bool {
	st.s.t.Helper()
	return st.s.must(st.s.ask(&protocol.Release{Mutation: st.mutation(), NodeID: st.node,
		Name: []byte(name)})).Release.Released
}

func want[T comparable](t *testing.T, what string, have, want T) {
	t.Helper()
	if have != want {
		t.Fatalf("%s: have %v, want %v", what, have, want)
	}
}

func name(format string, args ...any) []byte { return fmt.Appendf(nil, format, args...) }
