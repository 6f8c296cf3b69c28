package ydb

import (
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/signalbox/signalbox/internal/fairshare"
)

// maxUnknownBytes is the maximum read from a connection per firstMessageTimeout, until hosts have accepted a ticket
// from the connection: calls may hold the data for that time.
const maxUnknownBytes = 64 << 10

// Listener makes connections known to the gateway. So the gateway bounds their number, and sees whether a stream ended
// because the client cancelled the stream, or because the connection was lost.
func (g *Gateway) Listener(l net.Listener) net.Listener { return &listener{l, g} }

type listener struct {
	net.Listener
	gateway *Gateway
}

// Accept implements net.Listener. If there are too many connections, it closes a connection whose client is above its
// share.
func (l *listener) Accept() (net.Conn, error) {
	for {
		raw, err := l.Listener.Accept()
		if errors.Is(err, syscall.EMFILE) || errors.Is(err, syscall.ENFILE) {
			l.gateway.connections.Spare()
		}
		if err != nil {
			return nil, err
		}
		c := &connection{Conn: raw, known: make(chan struct{})}
		c.place = l.gateway.connections.Unit(1, c.close)
		from := call{address: hostOf(raw.RemoteAddr())}
		if c.place.Assign(from.party(""), fairshare.Arriving) {
			return c, nil
		}
		c.close()
	}
}

// hostOf returns an address without its port.
func hostOf(a net.Addr) string {
	host, _, err := net.SplitHostPort(a.String())
	if err != nil {
		return a.String()
	}
	return host
}

// connection is a client connection. It records its loss before the server notices the loss.
type connection struct {
	net.Conn
	place *fairshare.Unit
	lost  atomic.Bool
	known chan struct{} // closed when hosts have accepted a ticket

	// For the reading goroutine, while the connection is unknown.
	began time.Time // start of the current firstMessageTimeout period
	bytes int       // read within the period

	mu    sync.Mutex
	calls int // under way with an accepted ticket; guarded by mu
}

// clientAddr is a client address with its connection.
type clientAddr struct {
	net.Addr
	conn *connection
}

// RemoteAddr implements net.Conn.
func (c *connection) RemoteAddr() net.Addr { return &clientAddr{c.Conn.RemoteAddr(), c} }

// Read implements net.Conn.
func (c *connection) Read(b []byte) (int, error) {
	select {
	case <-c.known:
	default:
		b = c.sparing(b)
	}
	n, err := c.Conn.Read(b)
	c.bytes += n
	if err != nil {
		c.lost.Store(true)
	}
	return n, err
}

// sparing limits reading from an unknown connection: if nothing is left, it waits for the next period. It returns the
// section of b that may be filled.
func (c *connection) sparing(b []byte) []byte {
	left := time.Until(c.began.Add(firstMessageTimeout))
	if c.bytes >= maxUnknownBytes && left > 0 {
		next := time.NewTimer(left)
		defer next.Stop()
		select {
		case <-c.known:
			return b
		case <-next.C:
			left = 0
		}
	}
	if left <= 0 {
		c.began, c.bytes = time.Now(), 0
	}
	return b[:min(len(b), maxUnknownBytes-c.bytes)]
}

// Close implements net.Conn.
func (c *connection) Close() error {
	c.place.Leave()
	return c.Conn.Close()
}

// close closes the connection with all streams, and drops data not read by the client.
func (c *connection) close() {
	if socket, is := c.Conn.(*net.TCPConn); is {
		_ = socket.SetLinger(0)
	}
	_ = c.Close()
}

// begin counts a call with an accepted ticket. It returns false if the connection is closed, or is closed now because
// its client exceeds its share.
func (c *connection) begin(by fairshare.Party) bool {
	if c == nil {
		return true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.place.Assign(by, fairshare.Busy) {
		c.close()
		return false
	}
	if c.calls++; c.calls == 1 {
		select {
		case <-c.known:
		default:
			close(c.known)
		}
	}
	return true
}

// end undoes begin.
func (c *connection) end() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls--; c.calls == 0 && !c.place.Set(fairshare.Idle) {
		c.close()
	}
}
