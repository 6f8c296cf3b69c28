package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/memlog"
)

// sink is a connection whose peer takes everything at once and counts the frames.
type sink struct {
	frames atomic.Int64
	bytes  atomic.Int64
}

func (s *sink) Send(buf *bytebufferpool.ByteBuffer) {
	for b := buf.B; len(b) > 0; {
		_, size, err := protocol.ScanFrame(b, 8<<20)
		if err != nil || size == 0 || size > len(b) {
			panic("half a frame was sent")
		}
		b = b[size:]
		s.frames.Add(1)
	}
	s.bytes.Add(int64(len(buf.B)))
	buffers.Put(buf)
}

func (s *sink) Pending() int              { return 0 }
func (s *sink) Close()                    {}
func (s *sink) RemoteAddr() net.Addr      { return nil }
func (s *sink) TLS() *tls.ConnectionState { return nil }

// benchHost is a host on a log in memory, with one greeted connection.
func benchHost(b *testing.B) (*Host, *conn, *sink) {
	b.Helper()
	network, err := memlog.NewNetwork(memlog.Config{Hosts: []shard.HostID{1}})
	if err != nil {
		b.Fatal(err)
	}
	network.Start()
	h, err := Open(Config{
		ID: 1, Name: "bench", Cluster: "bench", ClientAddress: "bench", RaftAddress: "bench", Hosts: []shard.HostID{1}, Shards: 1,
		Logs: func(group uint64, sm shard.StateMachine) (shard.Log, error) {
			return network.Open(1, memlog.GroupID(group+1), sm)
		},
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		h.Close()
		_ = network.Close()
	})
	for h.Ready() != nil {
		time.Sleep(time.Millisecond)
	}
	s := &sink{}
	c := h.Opened(s).(*conn)
	send(b, c, s, 1, &protocol.Hello{VersionMin: 1, VersionMax: 1})
	send(b, c, s, 1, &protocol.NodeCreate{Path: []byte("/bench")})
	return h, c, s
}

// send gives a request to the connection and waits until so many frames came for it.
func send(b *testing.B, c *conn, s *sink, frames int64, m protocol.RequestMessage) {
	b.Helper()
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	before := s.frames.Load()
	protocol.NewEncoder().Request(buf, 1, m)
	c.Data(buf.B)
	for s.frames.Load() < before+frames {
		time.Sleep(50 * time.Microsecond)
	}
}

// A hundred sessions lock and unlock a semaphore of their own: 200 requests arrive in one read, go through
// the pipeline, the log in memory and the machine, and 200 answers leave. Reported per request.
func BenchmarkRequestThroughTheHost(b *testing.B) {
	h, c, s := benchHost(b)
	const sessions = 100
	for range sessions {
		send(b, c, s, 1, &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000})
	}
	var ids []uint64
	h.replicas[0].machine.WalkSessions(0, func(v shard.SessionView) { ids = append(ids, uint64(v.ID)) })
	buf := bytebufferpool.Get()
	encoder := protocol.NewEncoder()
	number, request := uint64(0), uint64(0)
	var acquire protocol.Acquire
	var release protocol.Release
	names := make([][]byte, sessions)
	for i := range names {
		names[i] = fmt.Appendf(nil, "lock/%d", i)
		send(b, c, s, 1, &protocol.SemaphoreCreate{NodeID: 1, Name: names[i], Limit: 1})
	}
	b.ReportAllocs()
	for b.Loop() {
		buf.Reset()
		for i, id := range ids {
			request++
			acquire = protocol.Acquire{
				Mutation: protocol.Mutation{SessionID: id, Number: number + 1, Acknowledged: number},
				NodeID:   1, Name: names[i], Count: 1,
			}
			encoder.Request(buf, request, &acquire)
			request++
			release = protocol.Release{
				Mutation: protocol.Mutation{SessionID: id, Number: number + 2, Acknowledged: number}, NodeID: 1, Name: names[i],
			}
			encoder.Request(buf, request, &release)
		}
		number += 2
		before := s.frames.Load()
		c.Data(buf.B)
		for s.frames.Load() < before+2*sessions {
			time.Sleep(5 * time.Microsecond)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/(2*sessions), "ns/request")
}

// A relaxed describe, answered on the event loop.
func BenchmarkRelaxedDescribe(b *testing.B) {
	h, c, s := benchHost(b)
	send(b, c, s, 1, &protocol.SemaphoreCreate{NodeID: 1, Name: []byte("config"), Limit: 1, Data: []byte("some small config")})
	send(b, c, s, 1, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("config")})
	buf := bytebufferpool.Get()
	protocol.NewEncoder().Request(buf, 1, &protocol.SemaphoreDescribe{NodeID: 1, Name: []byte("config"), IncludeOwners: true})
	if !h.replicas[0].fresh.upToDate(h.now()) {
		b.Fatal("the host is not fresh")
	}
	b.ReportAllocs()
	for b.Loop() {
		c.Data(buf.B)
	}
}

func BenchmarkPing(b *testing.B) {
	_, c, s := benchHost(b)
	send(b, c, s, 1, &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000})
	buf := bytebufferpool.Get()
	protocol.NewEncoder().Request(buf, 1, &protocol.Ping{})
	b.ReportAllocs()
	for b.Loop() {
		c.Data(buf.B)
	}
}
