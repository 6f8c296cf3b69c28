package server

import (
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
	kind "github.com/signalbox/signalbox/protocol/process"
	"github.com/signalbox/signalbox/server/connection"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
)

// countedLog counts proposals.
type countedLog struct {
	shard.Log
	bytes *atomic.Int64
}

func (l countedLog) Propose(batch []byte, done func(shard.Outcome)) error {
	l.bytes.Add(int64(len(batch)))
	return l.Log.Propose(batch, done)
}

// performer is a member with a separate connection that prepares, replies and acknowledges automatically.
type performer struct {
	b       *testing.B
	conn    net.Conn
	encoder *protocol.Encoder
	decoder *protocol.AnswerDecoder
	in      []byte
	request uint64
	number  protocol.Mutation
	part    protocol.Part
	leads   chan struct{} // it must coordinate
	ended   chan struct{} // an exchange ended
}

var show = []byte("show")

// perform connects, joins, and opens the inbox.
func perform(b *testing.B, address string, name string, members int) *performer {
	b.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	p := &performer{
		b: b, conn: conn, encoder: protocol.NewEncoder(), decoder: protocol.NewAnswerDecoder(),
		leads: make(chan struct{}, 1), ended: make(chan struct{}, 1),
	}
	p.ask(&protocol.Hello{VersionMin: 1, VersionMax: 1, PushKinds: protocol.PushKinds()})
	p.number.SessionID = p.ask(&protocol.SessionStart{
		Path: []byte("/bench"), TimeoutMillis: 600_000,
	}).SessionStart.SessionID
	arrival := kind.Arrival{
		Joining: kind.Joining{Name: name, Candidate: true}, Create: true, Spec: kind.Spec{MinMembers: members},
	}
	p.part.MemberID = p.ask(&protocol.ProcessJoin{
		Mutation: next(&p.number), NodeID: 1, Name: show, Arrival: arrival,
	}).ProcessJoin.MemberID
	p.ask(&protocol.InboxOpen{SessionID: p.number.SessionID, NodeID: 1, Name: show, MemberID: p.part.MemberID})
	return p
}

func (p *performer) say(m protocol.RequestMessage) {
	buf := bytebufferpool.Get()
	defer bytebufferpool.Put(buf)
	p.request++
	p.encoder.Request(buf, p.request, m)
	_, _ = p.conn.Write(buf.B)
}

// ask sends a request and waits for the answer as the next message.
func (p *performer) ask(m protocol.RequestMessage) *protocol.Answer {
	p.say(m)
	for {
		a, err := p.read()
		if err != nil || a.Result.Err() != nil {
			p.b.Errorf("%v: %v %v", m.Kind(), err, a.Result.Err())
			return &protocol.Answer{}
		}
		if a.Kind == m.Kind().Answer() {
			return a
		}
	}
}

func (p *performer) read() (*protocol.Answer, error) {
	for {
		payload, size, err := protocol.ScanFrame(p.in, 8<<20)
		if err != nil {
			return nil, err
		}
		if payload != nil {
			payload = slices.Clone(payload)
			p.in = append(p.in[:0], p.in[size:]...)
			return p.decoder.Decode(payload)
		}
		p.in = slices.Grow(p.in, 4096)
		n, err := p.conn.Read(p.in[len(p.in):cap(p.in)])
		if err != nil {
			return nil, err
		}
		p.in = p.in[:len(p.in)+n]
	}
}

// run handles messages until the connection is closed.
func (p *performer) run() {
	for {
		a, err := p.read()
		if err != nil {
			return
		}
		if a.Kind != protocol.KindInbox {
			if err := a.Result.Err(); err != nil {
				p.b.Errorf("%v: %v", a.Kind, err)
			}
			continue
		}
		for i := range a.Inbox.Items.All() {
			p.handle(&i)
		}
	}
}

func (p *performer) handle(i *protocol.Item) {
	p.part.Ack, p.part.Epoch = i.Seq, i.Epoch
	switch i.Kind {
	case kind.ItemPrepare:
		p.say(&protocol.ProcessPrepareAck{Mutation: next(&p.number), NodeID: 1, Name: show, Part: p.part})
	case kind.ItemCoordinate:
		p.leads <- struct{}{}
	case kind.ItemRequest:
		p.say(&protocol.ProcessReply{
			Mutation: next(&p.number), NodeID: 1, Name: show, Part: p.part, Exchange: i.Exchange, Data: []byte("done"),
		})
	case kind.ItemEnd:
		if i.Last {
			p.ended <- struct{}{}
		}
	}
}

// BenchmarkBroadcastToAThousandMembers sends a 1 KiB request to 1,000 members, each with a separate TCP connection, and
// waits for all replies. It reports the log bytes per request.
func BenchmarkBroadcastToAThousandMembers(b *testing.B) {
	if level.Newest < 4 {
		b.Skip("this build has no processes")
	}
	const members, payload = 1000, 1024
	var logged atomic.Int64
	h := openShards(b, 1, func(_ uint64, l shard.Log) shard.Log { return countedLog{l, &logged} })
	b.Cleanup(h.Close)
	for h.set.All()[0].Pipeline.Level() < level.Newest {
		time.Sleep(time.Millisecond)
	}
	listener, err := transport.ListenGnet("127.0.0.1:0", h, transport.NetOptions{})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = listener.Close() })
	s := newSink()
	c := h.Opened(s).(*connection.Conn)
	send(c, s, &protocol.Hello{VersionMin: 1, VersionMax: 1})
	send(c, s, &protocol.NodeCreate{Path: []byte("/bench")})
	var all sync.WaitGroup
	var first *performer
	for k := range members {
		p := perform(b, listener.Addr().String(), fmt.Sprint("m", k), members)
		if first == nil {
			first = p
		}
		all.Go(p.run)
		b.Cleanup(func() { _ = p.conn.Close() })
	}
	<-first.leads
	var took []time.Duration
	before := logged.Load()
	for b.Loop() {
		began := time.Now()
		first.say(&protocol.ProcessSend{
			Mutation: next(&first.number), NodeID: 1, Name: show, Part: first.part, Audience: kind.ToAll,
			Payload: make([]byte, payload),
		})
		<-first.ended
		took = append(took, time.Since(began))
	}
	slices.Sort(took)
	b.ReportMetric(float64(took[len(took)/2].Microseconds())/1000, "p50-ms")
	b.ReportMetric(float64(took[len(took)*99/100].Microseconds())/1000, "p99-ms")
	b.ReportMetric(float64(logged.Load()-before)/float64(len(took)), "log-bytes")
}

// BenchmarkTenThousandIdleProcesses measures a host's cost for idle processes, in hundredths of a processor, and the
// cost of a metrics page. Each round is a second.
func BenchmarkTenThousandIdleProcesses(b *testing.B) {
	for _, processes := range []int{0, 10_000} {
		b.Run(fmt.Sprint(processes), func(b *testing.B) {
			h, c, s := rolloutHost(b, 0, 1)
			for i := range processes {
				send(c, s, &protocol.ProcessPut{NodeID: 1, Name: fmt.Appendf(nil, "p%d", i)})
			}
			before := processorTime(b)
			for b.Loop() {
				time.Sleep(time.Second)
			}
			used := processorTime(b) - before
			b.ReportMetric(100*used.Seconds()/b.Elapsed().Seconds(), "%processor")
			began := time.Now()
			h.WriteMetrics(io.Discard)
			b.ReportMetric(float64(time.Since(began).Microseconds())/1000, "page-ms")
		})
	}
}
