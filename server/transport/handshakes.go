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

// handshakes contains a TLS listener's half-open connections: accepted connections whose handshake has not ended. A
// handshake mostly waits for the peer. Waiting costs only memory, so many handshakes may wait. Computing costs
// processor time, so few handshakes compute at once.
//
// A listener accepts connections as long as handshakes has a free slot. Otherwise, among the connections silent for
// halfOpenSilence, the listener closes the one accepted first: a connection from the new peer's address if the
// address has used up its share, else from any address. Connections that compute, or wait to compute, are never
// closed to free a slot, so all clients in a crowd that connects at once are served in turn.
type handshakes struct {
	options  TLSOptions
	closing  context.Context
	computes chan struct{} // one slot per computing handshake

	mu        sync.Mutex
	order     list.List // *handshake elements, in accept order
	addresses map[netip.Addr]*list.List

	// room has a value if a refused connection may be admitted at a new attempt.
	room chan struct{}
}

// handshake is a half-open connection. handshake is also the net.Conn under the TLS connection, to detect when the
// TLS handshake waits for the peer and when it computes.
type handshake struct {
	net.Conn
	table    *handshakes
	address  netip.Addr
	deadline time.Time
	done     bool // the handshake is over; set before anything else uses the TLS connection

	// Guarded by handshakes.mu.
	silent  time.Time // since when the peer is awaited; zero if it is not
	evicted bool
	place   *list.Element // in handshakes.order
	own     *list.Element // in the list for the peer's address
}

func newHandshakes(closing context.Context, options TLSOptions) *handshakes {
	return &handshakes{
		options: options, closing: closing, computes: make(chan struct{}, options.Handshakes),
		addresses: make(map[netip.Addr]*list.List), room: make(chan struct{}, 1),
	}
}

// admit adds an accepted connection, and waits for a slot: until a handshake ends, or a connection has been silent
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

// tryAdmit makes one attempt. Without a free slot, tryAdmit returns the wait before the next attempt.
func (ha *handshakes) tryAdmit(socket *net.TCPConn, address netip.Addr, now time.Time) (*handshake, time.Duration) {
	ha.mu.Lock()
	defer ha.mu.Unlock()
	own := ha.addresses[address]
	// An address whose share is used up, and that has no silent connection, is admitted as long as the table has a
	// free slot.
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

// evictFrom closes the first connection in a list that was silent for long enough, and reports whether there was one.
// mu is held.
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

// remove removes a connection. mu is held.
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

// run does the handshake. After a failure, run reports whether the connection was closed to free a slot.
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

// compute waits for a compute slot. The caller returns the slot at the end, and temporarily while waiting for the
// peer. After its deadline, a handshake does not begin.
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

// Read returns the compute slot to waiting handshakes while Read waits for the peer.
func (h *handshake) Read(b []byte) (int, error) {
	return h.wait(h.Conn.Read, b)
}

// Write returns the slot too: a peer that does not read must not occupy a slot.
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
	// The caller returns the slot, whatever the operation's result.
	h.setSilent(time.Time{})
	h.table.computes <- struct{}{}
	if err == nil && !time.Now().Before(h.deadline) {
		err = os.ErrDeadlineExceeded
	}
	return n, err
}

// addressOf returns the address under which half-open connections are counted: an IPv4 address, or a 64-bit network
// for IPv6, because an IPv6 peer can choose among all addresses in its network.
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
