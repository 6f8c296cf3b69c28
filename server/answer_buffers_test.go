//go:build (linux || darwin || freebsd) && !race

// Under the race detector, pools randomly drop items.

package server

import (
	"io"
	"net"
	"testing"
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/server/connection"
	"github.com/signalbox/signalbox/server/pipeline"
	"github.com/signalbox/signalbox/server/transport"
)

// openedOver gives connections to a host and keeps the host's side of each.
type openedOver struct {
	host  *Host
	conns chan *connection.Conn
}

func (o openedOver) Opened(peer transport.Conn) transport.Events {
	events := o.host.Opened(peer)
	o.conns <- events.(*connection.Conn)
	return events
}

// connectOverTCP connects a client to the host over an event loop, and returns both ends.
func connectOverTCP(tb testing.TB, h *Host) (*connection.Conn, net.Conn) {
	tb.Helper()
	opened := openedOver{h, make(chan *connection.Conn, 1)}
	listener, err := transport.ListenGnet("127.0.0.1:0", opened, transport.NetOptions{Loops: 1})
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = listener.Close() })
	client, err := net.Dial("tcp", listener.Addr().String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = client.Close() })
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	return <-opened.conns, client
}

// pongs sends n answers over the connection, with a write each, and reads them.
func pongs(tb testing.TB, c *connection.Conn, client net.Conn, n int) {
	var frame [7]byte
	for range n {
		c.Answer(pipeline.Ticket{Request: 1, Kind: protocol.KindPing}, &protocol.Pong{})
		c.Flush(true)
		if _, err := io.ReadFull(client, frame[:]); err != nil {
			tb.Fatal(err)
		}
	}
}

func TestAnAnswerTakesNoMemory(t *testing.T) {
	h := openAlone(t)
	t.Cleanup(h.Close)
	c, client := connectOverTCP(t, h)
	pongs(t, c, client, 100)
	const answers = 1000
	// The rest of the host allocates meanwhile, more so on slow machines. One allocation per answer would be 1.
	if each := testing.AllocsPerRun(1, func() { pongs(t, c, client, answers) }) / answers; each > 0.5 {
		t.Errorf("an answer takes %.2f allocations", each)
	}
}

func BenchmarkBufferOfAnAnswer(b *testing.B) {
	h := openAlone(b)
	b.Cleanup(h.Close)
	c, client := connectOverTCP(b, h)
	b.ReportAllocs()
	b.ResetTimer()
	pongs(b, c, client, b.N)
}
