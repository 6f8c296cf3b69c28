package connection

import (
	"crypto/tls"
	"log/slog"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/valyala/bytebufferpool"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/audit"
	"github.com/signalbox/signalbox/server/caller"
	"github.com/signalbox/signalbox/server/handle"
	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/server/replica"
	"github.com/signalbox/signalbox/server/transport"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/meta"
)

// bed is a host without replicas, and one client over an in-memory connection.
type bed struct {
	t       testing.TB
	set     *Set
	now     time.Time
	routing uint64
	left    int  // how many connections have closed
	revoked bool // the token
	conn    *Conn
	peer    *peer
	encoder *protocol.Encoder
	next    uint64
}

// newBed returns a bed with handlers. The token "good" is let in.
func newBed(t testing.TB, handlers handle.Table) *bed {
	t.Helper()
	b := &bed{t: t, now: time.Now(), routing: 3, encoder: protocol.NewEncoder()}
	clock, nodes := func() time.Time { return b.now }, meta.New()
	c := Config{
		Host: b, Clock: clock, Started: b.now, Metrics: metrics.New(), Log: slog.New(slog.DiscardHandler),
		Gate: caller.NewGate(caller.Config{Access: b, Meta: metaCopy{nodes}, Nodes: nodes, Clock: clock,
			Started: b.now}),
		Limits:       protocol.Limits{DataBytes: 1 << 10, RequestFrameBytes: 1 << 12, RequestsInFlight: 2},
		PingInterval: time.Second, PendingBytes: 1 << 20, PartialBytes: 1 << 20,
		Audit: &audit.Log{Nodes: nodes, To: slog.New(slog.DiscardHandler), Clock: clock},
		Left:  func(handle.Connection) { b.left++ },
	}
	for kind, h := range handlers {
		c.Handlers[kind] = h
	}
	b.set = New(c)
	b.peer = &peer{bed: b}
	b.conn = b.set.Open(b.peer)
	return b
}

// enter lets the client in.
func (b *bed) enter() {
	b.t.Helper()
	b.send(&protocol.Hello{VersionMin: protocol.MinVersion, VersionMax: protocol.MaxVersion, Token: []byte("good")})
	if a := b.peer.take(); len(a) == 0 || a[0].Kind != protocol.KindHello.Answer() {
		b.t.Fatalf("the client is not let in: %+v", a)
	}
}

// frame is a request as bytes.
func (b *bed) frame(m protocol.RequestMessage) []byte {
	b.next++
	var buf bytebufferpool.ByteBuffer
	b.encoder.Request(&buf, b.next, m)
	return buf.B
}

// send hands a request to the connection, as a transport does.
func (b *bed) send(m protocol.RequestMessage) {
	frame := b.frame(m)
	switch n := b.conn.Data(frame); {
	case n < 0:
		b.peer.Close()
	case n != len(frame):
		b.t.Fatalf("%d of %d bytes are consumed", n, len(frame))
	}
}

// Welcome implements Host.
func (b *bed) Welcome() protocol.Welcome {
	return protocol.Welcome{HostID: 7, HostName: []byte("host-7"), RoutingVersion: 3}
}

// RoutingVersion implements Host.
func (b *bed) RoutingVersion() uint64 { return b.routing }

// Wake implements Host.
func (b *bed) Wake() {}

// Stir implements Host.
func (b *bed) Stir() {}

// All implements Host.
func (b *bed) All() []*replica.Replica { return nil }

// Home implements Host.
func (b *bed) Home(shard.SessionID) *replica.Replica { return nil }

// ForgetSession implements Host.
func (b *bed) ForgetSession(shard.SessionID, replica.Conn) {}

// Authenticate implements caller.Access.
func (b *bed) Authenticate(token []byte) (caller.Rights, string, bool) {
	return everything{b}, "tester", string(token) == "good"
}

// everything is full client rights.
type everything struct{ bed *bed }

func (everything) Allows(string, string, protocol.Right) bool { return true }
func (e everything) Valid() bool                              { return !e.bed.revoked }
func (everything) Version() uint64                            { return 1 }

// metaCopy is an up-to-date replica of the meta shard.
type metaCopy struct{ *meta.Machine }

func (metaCopy) SureFor(time.Time) time.Duration { return 0 }
func (metaCopy) CaughtUp() bool                  { return true }
func (metaCopy) Confirm(done func(bool))         { done(true) }

// peer is the client's end, and stores messages from the host.
type peer struct {
	bed     *bed
	sent    []byte
	pending int
	closed  bool
}

var _ transport.Conn = (*peer)(nil)

func (p *peer) Send(buf *bytebufferpool.ByteBuffer)       { p.sent = append(p.sent, buf.B...) }
func (p *peer) Queue(buf *bytebufferpool.ByteBuffer) bool { p.Send(buf); return false }
func (p *peer) Flush()                                    {}
func (p *peer) Pending() int                              { return p.pending }
func (p *peer) RemoteAddr() net.Addr                      { return &net.TCPAddr{IP: net.IPv4(192, 0, 2, 1), Port: 1} }
func (p *peer) TLS() *tls.ConnectionState                 { return nil }

func (p *peer) Close() {
	if !p.closed {
		p.closed = true
		p.bed.conn.Closed(nil)
	}
}

// received is a message from the host.
type received struct {
	ID     uint64
	Kind   protocol.Kind
	Result protocol.Result
}

// take returns the host's messages since the last call.
func (p *peer) take() (list []received) {
	decoder := protocol.NewAnswerDecoder()
	for len(p.sent) > 0 {
		payload, size, err := protocol.ScanFrame(p.sent, 1<<20)
		if err != nil || payload == nil {
			p.bed.t.Fatalf("the host sent no frame: %v", err)
		}
		a, err := decoder.Decode(slices.Clone(payload))
		if err != nil {
			p.bed.t.Fatal(err)
		}
		r := received{ID: a.ID, Kind: a.Kind, Result: a.Result}
		if a.Kind == protocol.KindGoingAway {
			r.Result = a.GoingAway.Result
		}
		list, p.sent = append(list, r), p.sent[size:]
	}
	return list
}
