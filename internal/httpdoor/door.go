// Package httpdoor bounds what the clients of an HTTP server hold of it before they have shown who they are. A Door
// lets every connection in, and closes those for it that have done nothing for longest; a connection is known to the
// door by what its request does, which the handlers say by the methods of Conn.
package httpdoor

import (
	"context"
	"crypto/tls"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"sync"
	"sync/atomic"
)

// Limits are those of a Door.
type Limits struct {
	// Connections is how many there may be. OfAddress is how many of one address; those of Proxies are not bounded by
	// it.
	Connections, OfAddress int
	// Bytes is how much all bodies and answers that are under way may take together. 0 is for a server that does not
	// say what they take.
	Bytes int64
	// Proxies are trusted to name the addresses of their clients.
	Proxies Proxies
}

// Door keeps the connections of one server. Any goroutine may use it.
type Door struct {
	limits Limits

	accepted  atomic.Uint64
	closedFor [reasons]atomic.Uint64

	mu     sync.Mutex
	moves  uint64 // counts what connections did, so that it orders them
	held   int64
	all    group
	byAddr map[netip.Prefix]*group
}

// reason is why the door has closed a connection.
type reason int

const (
	forAddress reason = iota
	forAll
	forBytes
	reasons
)

var reasonNames = [reasons]string{"ADDRESS", "ALL", "BYTES"}

// New returns a Door.
func New(l Limits) *Door { return &Door{limits: l, byAddr: make(map[netip.Prefix]*group)} }

// Attach has the door see what the connections of a server do.
func (d *Door) Attach(s *http.Server) {
	s.ConnState = func(c net.Conn, state http.ConnState) {
		if conn := known(c); conn != nil && (state == http.StateActive || state == http.StateIdle) {
			d.moved(conn, state == http.StateIdle)
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

// known returns the door's connection below a server's.
func known(c net.Conn) *Conn {
	if secured, is := c.(*tls.Conn); is {
		c = secured.NetConn()
	}
	conn, _ := c.(*Conn)
	return conn
}

type key struct{}

// Of returns the connection of a request; nil where the request came by no door, which bounds nothing.
func Of(r *http.Request) *Conn {
	c, _ := r.Context().Value(key{}).(*Conn)
	return c
}

// Listen has the connections of a listener pass the door.
func (d *Door) Listen(l net.Listener) net.Listener { return &listener{l, d} }

type listener struct {
	net.Listener
	door *Door
}

// Accept implements net.Listener. Where the system has no file for one more, the door makes room.
func (l *listener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		if outOfFiles(err) {
			l.door.makeRoom()
		}
		return nil, err
	}
	return l.door.admit(c), nil
}

// admit lets a connection in.
func (d *Door) admit(raw net.Conn) *Conn {
	d.accepted.Add(1)
	c := &Conn{Conn: raw, door: d, peer: Address(raw.RemoteAddr().String())}
	d.mu.Lock()
	d.enter(c, c.peer)
	closing := d.closable(c)
	if d.all.size > d.limits.Connections {
		closing = append(closing, d.remove(d.all.oldest(), forAll)...)
	}
	d.mu.Unlock()
	closing.close()
	return c
}

// closable removes the oldest connection of an address that has too many, which one more belongs to. mu is held.
func (d *Door) closable(c *Conn) victims {
	if c.of == nil || c.of.size <= d.limits.OfAddress || d.limits.Proxies.Trusts(c.address) {
		return nil
	}
	return d.remove(c.of.oldest(), forAddress)
}

// makeRoom closes the connection that has done nothing for longest.
func (d *Door) makeRoom() {
	d.mu.Lock()
	closing := d.remove(d.all.oldest(), forAll)
	d.mu.Unlock()
	closing.close()
}

// moved has a connection begin a request, or end one.
func (d *Door) moved(c *Conn, ended bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if c.gone {
		return
	}
	if ended {
		d.hold(c, 0)
		d.enter(c, c.peer)
	}
	d.place(c, waiting)
}

// WriteMetrics writes what the door counts.
func (d *Door) WriteMetrics(w io.Writer) {
	d.mu.Lock()
	open, held := d.all.size, d.held
	d.mu.Unlock()
	fmt.Fprintf(w, "signalbox_http_connections %d\n", open)
	fmt.Fprintf(w, "signalbox_http_connections_accepted_total %d\n", d.accepted.Load())
	for r, name := range reasonNames {
		fmt.Fprintf(w, "signalbox_http_connections_closed_total{reason=%q} %d\n", name, d.closedFor[r].Load())
	}
	fmt.Fprintf(w, "signalbox_http_held_bytes %d\n", held)
}
