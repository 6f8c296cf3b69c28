// Package httplimit limits what clients hold in an HTTP server, with the rules in package fairshare. A Limiter accepts
// every connection. If there are too many, it closes an idle connection whose client has more than its share. Handlers
// report a request's sender and progress with Conn's methods.
package httplimit

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"

	"github.com/signalbox/signalbox/internal/fairshare"
)

// Limits configures a Limiter.
type Limits struct {
	// Connections is the maximum number of connections. Connections with a first request in progress may exceed it by
	// half.
	Connections int
	// Bytes is how much memory all bodies under way may take together. 0 is for a server that does not report the
	// memory.
	Bytes int64
}

// Limiter manages one server's connections. Safe for concurrent use.
type Limiter struct {
	accepted           atomic.Uint64
	connections, bytes *fairshare.Pool
}

// New returns a Limiter.
func New(l Limits) *Limiter {
	return &Limiter{connections: fairshare.NewPool(int64(l.Connections)), bytes: fairshare.NewPool(l.Bytes)}
}

// Attach makes the limiter follow a server's connection states.
func (l *Limiter) Attach(s *http.Server) {
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if conn := known(c); conn != nil {
			switch state {
			case http.StateActive:
				conn.keep(conn.place.Set(conn.state()))
			case http.StateIdle:
				conn.answered()
			}
		}
	}
	s.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		conn := known(c)
		if conn == nil {
			return ctx
		}
		ctx, cancel := context.WithCancel(ctx)
		conn.endsWith(cancel)
		return context.WithValue(ctx, key{}, conn)
	}
}

// known returns the limiter's connection below a server's.
func known(c net.Conn) *Conn {
	if secured, is := c.(*tls.Conn); is {
		c = secured.NetConn()
	}
	conn, _ := c.(*Conn)
	return conn
}

type key struct{}

// Of returns a request's connection; nil if the server has no limiter. A nil Conn limits nothing.
func Of(r *http.Request) *Conn {
	c, _ := r.Context().Value(key{}).(*Conn)
	return c
}

// Listen makes the limiter manage a listener's connections.
func (l *Limiter) Listen(of net.Listener) net.Listener { return &listener{of, l} }

type listener struct {
	net.Listener
	limiter *Limiter
}

// Accept implements net.Listener. If the system has no file descriptor for another connection, an idle connection is
// closed.
func (l *listener) Accept() (net.Conn, error) {
	for {
		c, err := l.Listener.Accept()
		if err != nil {
			if outOfFiles(err) {
				l.limiter.connections.Spare()
			}
			return nil, err
		}
		if conn := l.limiter.admit(c); conn != nil {
			return conn, nil
		}
	}
}

// admit admits a connection, or returns nil if it was closed.
func (l *Limiter) admit(raw net.Conn) *Conn {
	l.accepted.Add(1)
	from := Address(raw.RemoteAddr().String())
	c := &Conn{Conn: raw, limiter: l, party: fairshare.Party{Address: fairshare.Network(from)}}
	c.place = l.connections.Unit(1, c.reset)
	if !c.keep(c.place.Assign(c.party, fairshare.Arriving)) {
		return nil
	}
	return c
}

// WriteMetrics writes the limiter's metrics.
func (l *Limiter) WriteMetrics(w io.Writer) {
	connections, bytes := l.connections.Counts(), l.bytes.Counts()
	fmt.Fprintf(w, "signalbox_http_connections %d\n", connections.Held)
	fmt.Fprintf(w, "signalbox_http_connections_accepted_total %d\n", l.accepted.Load())
	for reason, of := range map[string]fairshare.Counts{"connections": connections, "bytes": bytes} {
		fmt.Fprintf(w, "signalbox_http_connections_closed_total{reason=%q} %d\n", reason, of.Taken+of.Refused)
	}
	fmt.Fprintf(w, "signalbox_http_in_flight_bytes %d\n", bytes.Held)
}
