package transport

import (
	"container/list"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"
)

// handshakes holds the half-open connections of a TLS listener: accepted connections before the end of their
// handshake. Most of a handshake is waiting for the peer. Waiting costs memory only, so many handshakes may wait.
// Computing costs processor time, so few handshakes compute at once.
//
// A listener accepts connections as long as handshakes has room. Without room, the listener closes the connection
// accepted first among the connections silent for halfOpenSilence: a connection of the new peer's address if the
// address has used up its share, else a connection of an arbitrary address. Connections in the middle of computing,
// or waiting to compute, are never closed to make room, so all clients of a crowd that connects at once are served in
// turn.
type handshakes struct {
	options  TLSOptions
	closing  context.Context
	computes chan struct{} // a place for every computing handshake

	mu        sync.Mutex
	order     list.List // of *handshake, first accepted first
	addresses map[netip.Addr]*list.List

	// room has a value when a refused connection may be admitted at a new attempt.
	room chan struct{}
}

// handshake is a half-open connection. handshake is also the net.Conn under the TLS connection, to see when the TLS
// handshake waits for the peer and when it computes.
type handshake struct {
	net.Conn
	table    *handshakes
	address  netip.Addr
	deadline time.Time
	done     bool // the handshake is over; set before the TLS connection has a user besides the handshake

	// Guarded by handshakes.mu.
	silent  time.Time // since when the peer is waited for; zero without a wait
	evicted bool
	place   *list.Element // in handshakes.order
	own     *list.Element // in the list of the peer's address
}

func newHandshakes(closing context.Context, options TLSOptions) *handshakes {
	return &handshakes{
		options: options, closing: closing, computes: make(chan struct{}, options.Handshakes),
		addresses: make(map[netip.Addr]*list.List), room: make(chan struct{}, 1),
	}
}

// admit takes in an accepted connection, and waits for room: until a handshake ends, or a connection has been silent
// for long enough to be closed. admit returns nil when the listener closes.
func (ha *handshakes) admit(socket *net.TCPConn) *handshake {
	address := addressOf(socket.RemoteAddr())
	for {
		h, wait := ha.tryAdmit(socket, address, time.Now())
		if h != nil {
			return h
		}
		timer := time.NewTimer(wait)
		select {
		case <-ha.closing.Done():
			timer.Stop()
			return nil
		case <-ha.room:
			timer.Stop()
		case <-timer.C:
		}
	}
}

// tryAdmit is a single attempt. Without room tryAdmit returns the wait before the next attempt.
func (ha *handshakes) tryAdmit(socket *net.TCPConn, address netip.Addr, now time.Time) (*handshake, time.Duration) {
	ha.mu.Lock()
	defer ha.mu.Unlock()
	own := ha.addresses[address]
	// An address with a full share, and without a silent connection, is admitted as long as the table has room at
	// all.
	if own == nil || own.Len() < ha.options.HalfOpenPerAddress || !ha.evictFrom(own, now) {
		if ha.order.Len() >= ha.options.HalfOpen && !ha.evictFrom(&ha.order, now) {
			return nil, ha.options.silence / 4
		}
	}
	if own = ha.addresses[address]; own == nil {
		own = list.New()
		ha.addresses[address] = own
	}
	h := &handshake{
		Conn: socket, table: ha, address: address,
		deadline: now.Add(ha.options.HandshakeTimeout), silent: now,
	}
	_ = socket.SetDeadline(h.deadline)
	h.place, h.own = ha.order.PushBack(h), own.PushBack(h)
	if ha.order.Len() < ha.options.HalfOpen {
		ha.signalRoom()
	}
	return h, 0
}

// evictFrom closes the first connection of a list silent for long enough, and reports whether the list had a
// connection to close. mu is held.
func (ha *handshakes) evictFrom(connections *list.List, now time.Time) bool {
	for e := connections.Front(); e != nil; e = e.Next() {
		h := e.Value.(*handshake)
		if h.silent.IsZero() || now.Sub(h.silent) < ha.options.silence {
			continue
		}
		h.evicted = true
		ha.remove(h)
		_ = h.Close()
		return true
	}
	return false
}

// remove takes a connection out. mu is held.
func (ha *handshakes) remove(h *handshake) {
	if h.place == nil {
		return
	}
	ha.order.Remove(h.place)
	own := ha.addresses[h.address]
	own.Remove(h.own)
	if own.Len() == 0 {
		delete(ha.addresses, h.address)
	}
	h.place, h.own = nil, nil
	ha.signalRoom()
}

func (ha *handshakes) signalRoom() {
	select {
	case ha.room <- struct{}{}:
	default:
	}
}

// close closes all half-open connections.
func (ha *handshakes) close() {
	ha.mu.Lock()
	defer ha.mu.Unlock()
	for e := ha.order.Front(); e != nil; e = e.Next() {
		_ = e.Value.(*handshake).Close()
	}
}

// run does the handshake. After a failure run reports whether the connection was closed to make room.
func (h *handshake) run() (conn *tls.Conn, evicted bool, err error) {
	t := h.table
	conn = tls.Server(h, t.options.Config)
	if err = h.compute(); err == nil {
		err = conn.Handshake()
		<-t.computes
	}
	t.mu.Lock()
	evicted = h.evicted
	t.remove(h)
	t.mu.Unlock()
	if err != nil || evicted {
		return nil, evicted, err
	}
	h.done = true
	return conn, false, h.SetDeadline(time.Time{})
}

// compute waits for a place among the computing handshakes. The caller gives the place back at the end, and a wait
// for the peer does so meanwhile. A handshake after its deadline does not begin.
func (h *handshake) compute() error {
	h.setSilent(time.Time{})
	h.table.computes <- struct{}{}
	if time.Now().Before(h.deadline) {
		return nil
	}
	<-h.table.computes
	return os.ErrDeadlineExceeded
}

func (h *handshake) setSilent(since time.Time) {
	h.table.mu.Lock()
	h.silent = since
	h.table.mu.Unlock()
}

// Read lends the place among the computing handshakes to waiting handshakes while Read waits for the peer.
func (h *handshake) Read(b []byte) (int, error) {
	return h.wait(h.Conn.Read, b)
}

// Write lends the place too: a peer that does not read must not occupy a place.
func (h *handshake) Write(b []byte) (int, error) {
	return h.wait(h.Conn.Write, b)
}

func (h *handshake) wait(operation func([]byte) (int, error), b []byte) (int, error) {
	if h.done {
		return operation(b)
	}
	<-h.table.computes
	h.setSilent(time.Now())
	n, err := operation(b)
	// The caller gives the place back, whatever became of the operation.
	h.setSilent(time.Time{})
	h.table.computes <- struct{}{}
	if err == nil && !time.Now().Before(h.deadline) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// addressOf returns the address by which half-open connections are counted: an address of version 4, or the network
// of 64 bits, because a peer of version 6 can choose among all addresses of its network.
func addressOf(remote net.Addr) netip.Addr {
	tcp, ok := remote.(*net.TCPAddr)
	if !ok {
		return netip.Addr{}
	}
	address := tcp.AddrPort().Addr().Unmap()
	if address.Is6() {
		network, _ := address.WithZone("").Prefix(64)
		return network.Addr()
	}
	return address
}
