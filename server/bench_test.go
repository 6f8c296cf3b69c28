package server

import (
	"crypto/tls"
	"fmt"
	"math"
	"net"
	"sync/atomic"
	"testing"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/connection"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// sink is a connection whose peer accepts everything at once and counts frames.
type sink struct {
	frames  atomic.Int64
	awaited atomic.Int64  // so many frames the test waits for
	came    chan struct{} // signalled when they have arrived
}

func newSink() *sink {
	s := &sink{came: make(chan struct{}, 1)}
	s.awaited.Store(math.MaxInt64)
	return s
}

func (s *sink) Send(buf *bytebufferpool.ByteBuffer) {
	var frames int64
	for b := buf.B; len(b) > 0; frames++ {
		_, size, err := protocol.ScanFrame(b, 8<<20)
		if err != nil || size == 0 || size > len(b) {
			panic("half a frame was sent")
		}
		b = b[size:]
	}
	transport.Buffers.Put(buf)
	if s.frames.Add(frames) >= s.awaited.Load() {
		select {
		case s.came <- struct{}{}:
		default: // it is known
		}
	}
}

func (s *sink) Queue(buf *bytebufferpool.ByteBuffer) bool { s.Send(buf); return false }
func (s *sink) Flush()                                    {}
func (s *sink) Pending() int                              { return 0 }
func (s *sink) Close()                                    {}
func (s *sink) RemoteAddr() net.Addr                      { return nil }
func (s *sink) TLS() *tls.ConnectionState                 { return nil }

// exchange passes bytes to the connection and waits for the given number of frames.
func (s *sink) exchange(c *connection.Conn, bytes []byte, frames int64) {
	all := s.frames.Load() + frames
	s.awaited.Store(all)
	c.Data(bytes)
	for s.frames.Load() < all {
		<-s.came
	}
	s.awaited.Store(math.MaxInt64)
}

// benchHost is a host on an in-memory log, with one connection after HELLO.
func benchHost(t testing.TB) (*Host, *connection.Conn, *sink) {
	t.Helper()
	h := openAlone(t)
	t.Cleanup(h.Close)
	s := newSink()
	c := h.Opened(s).(*connection.Conn)
	send(c, s, &protocol.Hello{VersionMin: 1, VersionMax: 1})
	send(c, s, &protocol.NodeCreate{Path: []byte("/bench")})
	return h, c, s
}

// send passes a request to the connection and waits for a frame.
func send(c *connection.Conn, s *sink, m protocol.RequestMessage) {
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	protocol.NewEncoder().Request(buf, 1, m)
	s.exchange(c, buf.B, 1)
}

// lockRequests is the number of requests per round of lockRounds.
const lockRequests = 200

// lockRounds returns a round: each of a hundred sessions locks and unlocks its own semaphore. The requests arrive in
// one read, pass the pipeline, the in-memory log and the machine, and the same number of answers is sent.
func lockRounds(t testing.TB) (round func()) {
	h, c, s := benchHost(t)
	for range lockRequests / 2 {
		send(c, s, &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000})
	}
	var ids []uint64
	h.set.All()[0].Machine.WalkSessions(0, func(v shard.SessionView) { ids = append(ids, uint64(v.ID)) })
	buf := bytebufferpool.Get()
	encoder := protocol.NewEncoder()
	number, request := uint64(0), uint64(0)
	var acquire protocol.Acquire
	var release protocol.Release
	names := make([][]byte, len(ids))
	for i := range names {
		names[i] = fmt.Appendf(nil, "lock/%d", i)
		send(c, s, &protocol.SemaphoreCreate{NodeID: 1, Name: names[i], Limit: 1})
	}
	return func() {
		buf.Reset()
		for i, id := range ids {
			request++
			acquire = protocol.Acquire{
				Mutation: protocol.Mutation{SessionID: id, Sequence: number + 1, AcknowledgedSequence: number},
				NodeID:   1, Name: names[i], Count: 1,
			}
			encoder.Request(buf, request, &acquire)
			request++
			release = protocol.Release{
				Mutation: protocol.Mutation{SessionID: id, Sequence: number + 2,
					AcknowledgedSequence: number}, NodeID: 1, Name: names[i],
			}
			encoder.Request(buf, request, &release)
		}
		number += 2
		s.exchange(c, buf.B, lockRequests)
	}
}

// TestARequestThroughTheHostAllocatesNothing: only batches and the in-memory log may allocate: 0.05 per request with
// full batches, 0.1 under the race detector. A busy machine makes some batches small, with their own allocations, so
// the round with the fewest allocations counts. One allocation per acquire would add 0.5 to every round.
func TestARequestThroughTheHostAllocatesNothing(t *testing.T) {
	round, least := lockRounds(t), math.Inf(1)
	for range 50 {
		least = min(least, testing.AllocsPerRun(1, round)/lockRequests)
	}
	if least > 0.15 {
		t.Errorf("%.2f allocations a request", least)
	}
	t.Logf("%.2f allocations a request", least)
}

// BenchmarkRequestThroughTheHost reports per request.
func BenchmarkRequestThroughTheHost(b *testing.B) {
	round := lockRounds(b)
	b.ReportAllocs()
	for b.Loop() {
		round()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/lockRequests, "ns/request")
}

// BenchmarkRelaxedDescribe: a relaxed describe, answered on the event loop.
func BenchmarkRelaxedDescribe(b *testing.B) {
	h, c, s := benchHost(b)
	send(c, s, &protocol.SemaphoreCreate{NodeID: 1, Name: []byte("config"), Limit: 1,
		Data: []byte("some small config")})
	send(c, s, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("config")})
	buf := bytebufferpool.Get()
	protocol.NewEncoder().Request(buf, 1, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("config"),
		IncludeOwners: true})
	if !h.set.All()[0].MayAnswer(protocol.ConsistencyRelaxed) {
		b.Fatal("the host is not fresh")
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Data(buf.B)
	}
}

func BenchmarkPing(b *testing.B) {
	_, c, s := benchHost(b)
	send(c, s, &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000})
	buf := bytebufferpool.Get()
	protocol.NewEncoder().Request(buf, 1, &protocol.Ping{})
	b.ReportAllocs()
	for b.Loop() {
		c.Data(buf.B)
	}
}
