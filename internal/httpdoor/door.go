// Package httpdoor bounds how much of an HTTP server clients may hold before they have authenticated. A Door lets
// every connection in, and closes the connections idle for longest to make room. The door judges a connection by the
// progress of its request, which the handlers report by the methods of Conn.
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

// Limits are the limits of a Door.
type Limits struct {
	// Connections is the largest number of connections. OfAddress is the largest number from a single address;
	// addresses of Proxies are exempt.
	Connections, OfAddress int
	// Bytes is how much memory all bodies and answers under way may take together. 0 is for a server that does not
	// report the memory.
	Bytes int64
	// Proxies are trusted to name the addresses of their clients.
	Proxies Proxies
}

// Door keeps the connections of one server. All goroutines may use a Door.
type Door struct {
	limits Limits

	accepted  atomic.Uint64
	closedFor [reasons]atomic.Uint64

	mu     sync.Mutex
	moves  uint64 // counts the moves of connections, to order them
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

// Attach has the door follow the states of a server's connections.
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

// Of returns the connection of a request; nil for a request through no door. A nil Conn bounds nothing.
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

// Accept implements net.Listener. If the system has no file for a further connection, the door makes room.
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

// closable removes the oldest connection of c's address, if the address has too many connections. mu is held.
func (d *Door) closable(c *Conn) victims {
	if c.of == nil || c.of.size <= d.limits.OfAddress || d.limits.Proxies.Trusts(c.address) {
		return nil
	}
	return d.remove(c.of.oldest(), forAddress)
}

// makeRoom closes the connection that has been idle for longest.
func (d *Door) makeRoom() {
	d.mu.Lock()
	closing := d.remove(d.all.oldest(), forAll)
	d.mu.Unlock()
	closing.close()
}

// moved records that a connection has begun or ended a request.
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

// WriteMetrics writes the metrics of the door.
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
