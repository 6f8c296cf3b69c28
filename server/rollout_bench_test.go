package server

import (
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	kind "github.com/signalbox/signalbox/protocol/rollout"
	"github.com/signalbox/signalbox/server/connection"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// rolloutHost is benchHost with rollouts named r0, r1 and so on, each with one location, or three with delays.
func rolloutHost(b *testing.B, rollouts, places int) (*Host, *connection.Conn, *sink) {
	b.Helper()
	if level.Newest < 4 {
		b.Skip("this build has no rollouts")
	}
	h, c, s := benchHost(b)
	for h.set.All()[0].Pipeline.Level() < level.Newest {
		time.Sleep(time.Millisecond)
	}
	var spec kind.Spec
	for i, name := range []string{"sas", "man", "vla"}[:places] {
		spec.Locations = append(spec.Locations, kind.Location{Name: name, Delay: time.Duration(i) * 5 * time.Second})
	}
	for i := range rollouts {
		send(c, s, &protocol.RolloutPut{NodeID: 1, Name: fmt.Appendf(nil, "r%d", i), Put: kind.Put{Spec: spec}})
	}
	if n := h.set.All()[0].Machine.Count().OfKind[shard.KindRollout]; n != rollouts {
		b.Fatalf("there are %d rollouts, not %d", n, rollouts)
	}
	return h, c, s
}

// instance starts a session that leads sas in r0, and returns the fields for its next mutation.
func instance(h *Host, c *connection.Conn, s *sink, name string) *protocol.Mutation {
	send(c, s, &protocol.SessionStart{Path: []byte("/bench"), TimeoutMillis: 600_000})
	m, machine := &protocol.Mutation{}, h.set.All()[0].Machine
	last := machine.Count().LastSession
	for at, over := shard.Cursor(0), false; !over; {
		at, over = machine.WalkSessions(at, func(v shard.SessionView) {
			if uint64(v.ID)&protocol.MaxSessionCounter == last {
				m.SessionID = uint64(v.ID)
			}
		})
	}
	r0 := []byte("r0")
	send(c, s, &protocol.RolloutJoin{
		Mutation: next(m), NodeID: 1, Name: r0, Instance: kind.Instance{Name: name, Location: "sas"},
	})
	send(c, s, &protocol.RolloutReady{Mutation: next(m), NodeID: 1, Name: r0, Leader: true})
	return m
}

// next counts a session's mutations, whose answers the client has seen.
func next(m *protocol.Mutation) protocol.Mutation {
	m.AcknowledgedSequence = m.Sequence
	m.Sequence++
	return *m
}

// BenchmarkReportsOfInstances: a thousand instances report in one read, either changes, through the in-memory log, or
// known facts. Results are per report.
func BenchmarkReportsOfInstances(b *testing.B) {
	for _, changes := range []bool{true, false} {
		b.Run(map[bool]string{true: "changed", false: "unchanged"}[changes], func(b *testing.B) {
			h, c, s := rolloutHost(b, 1, 1)
			send(c, s, &protocol.RolloutPublish{NodeID: 1, Name: []byte("r0"),
				Publication: kind.Publication{Payload: []byte("one")}})
			const instances = 1000
			all := make([]*protocol.Mutation, instances)
			for i := range all {
				all[i] = instance(h, c, s, fmt.Sprint("i", i))
			}
			buf, encoder := bytebufferpool.Get(), protocol.NewEncoder()
			request, attempts := uint64(1), uint64(0)
			b.ReportAllocs()
			for b.Loop() {
				buf.Reset()
				if changes {
					attempts++
				}
				for _, m := range all {
					request++
					encoder.Request(buf, request, &protocol.RolloutReport{
						Mutation: next(m), NodeID: 1, Name: []byte("r0"), Report: protocol.InstanceReport{
							Generation: 1, Status: kind.Updating, Attempts: attempts,
						},
					})
				}
				s.exchange(c, buf.B, instances)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/instances, "ns/report")
			b.ReportMetric(float64(b.N)*instances/b.Elapsed().Seconds(), "reports/s")
		})
	}
}

// BenchmarkTenThousandIdleRollouts measures a host's cost for idle rollouts, in hundredths of a processor. Each round
// is a second.
func BenchmarkTenThousandIdleRollouts(b *testing.B) {
	for _, rollouts := range []int{0, 10_000} {
		b.Run(fmt.Sprint(rollouts), func(b *testing.B) {
			rolloutHost(b, rollouts, 3)
			before := processorTime(b)
			for b.Loop() {
				time.Sleep(time.Second)
			}
			used := processorTime(b) - before
			b.ReportMetric(100*used.Seconds()/b.Elapsed().Seconds(), "%processor")
		})
	}
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// crowd is the total received by many connections.
type crowd struct {
	mu      sync.Mutex
	changed sync.Cond
	frames  int
	took    []time.Duration // frame delays since the start
	bytes   int             // of those
	began   time.Time
}

func newCrowd() *crowd {
	c := &crowd{}
	c.changed.L = &c.mu
	return c
}

// await waits until so many frames have come since begin.
func (c *crowd) await(frames int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for c.frames < frames {
		c.changed.Wait()
	}
}

func (c *crowd) begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.frames, c.bytes, c.took, c.began = 0, 0, c.took[:0], time.Now()
}

// onlooker is a connection in the crowd.
type onlooker struct{ of *crowd }

func (o onlooker) Send(buf *bytebufferpool.ByteBuffer) {
	o.of.mu.Lock()
	defer o.of.mu.Unlock()
	for b := buf.B; len(b) > 0; {
		_, size, err := protocol.ScanFrame(b, 8<<20)
		if err != nil || size > len(b) {
			panic("half a frame was sent")
		}
		b = b[size:]
		o.of.frames++
		o.of.bytes += size
		o.of.took = append(o.of.took, time.Since(o.of.began))
	}
	transport.Buffers.Put(buf)
	o.of.changed.Signal()
}

func (o onlooker) Queue(buf *bytebufferpool.ByteBuffer) bool { o.Send(buf); return false }
func (o onlooker) Flush()                                    {}
func (o onlooker) Pending() int                              { return 0 }
func (o onlooker) Close()                                    {}
func (o onlooker) RemoteAddr() net.Addr                      { return nil }
func (o onlooker) TLS() *tls.ConnectionState                 { return nil }

// BenchmarkFiveThousandWatchesOfATarget publishes a 1 KiB version to 5,000 connections that watch the location. It
// reports the 99th percentile delay, and the bytes per connection beyond the payload.
func BenchmarkFiveThousandWatchesOfATarget(b *testing.B) {
	const watches, payload = 5000, 1024
	h, c, s := rolloutHost(b, 1, 1)
	m := instance(h, c, s, "leader")
	crowd := newCrowd()
	for range watches {
		w := h.Opened(onlooker{crowd}).(*connection.Conn)
		give(w, 1, &protocol.Hello{VersionMin: 1, VersionMax: 1})
		give(w, 2, &protocol.Watch{
			NodeID: 1, Name: []byte("r0"), ObjectKind: protocol.ObjectRollout, View: []byte("location/sas"),
		})
	}
	crowd.await(3 * watches) // a WELCOME, an answer and a snapshot for each
	var tails []time.Duration
	bytes, seq := 0, uint64(0)
	for b.Loop() {
		seq++
		crowd.begin()
		send(c, s, &protocol.RolloutPublish{NodeID: 1, Name: []byte("r0"),
			Publication: kind.Publication{Payload: make([]byte, payload)}})
		crowd.await(watches)
		slices.Sort(crowd.took)
		tails = append(tails, crowd.took[watches*99/100])
		bytes += crowd.bytes
		send(c, s, &protocol.RolloutReport{
			Mutation: next(m), NodeID: 1, Name: []byte("r0"),
			Report: protocol.InstanceReport{Current: seq, Generation: seq},
		})
	}
	slices.Sort(tails)
	b.ReportMetric(float64(tails[len(tails)/2].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(bytes)/float64(b.N)/watches-payload, "bytes-beside-payload")
}

// give gives a request to a connection.
func give(c *connection.Conn, id uint64, m protocol.RequestMessage) {
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	protocol.NewEncoder().Request(buf, id, m)
	c.Data(buf.B)
}
