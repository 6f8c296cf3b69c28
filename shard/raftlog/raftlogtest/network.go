package raftlogtest

import (
	"context"
	"errors"
	"net"
	"os"
	"sync"
	"syscall"
	"time"
)

// Network is a network in memory. What is sent over a cut arrives when the cut is over, as with TCP, also when the
// sender has ended meanwhile.
type Network struct {
	mu        sync.Mutex
	listeners map[string]*listener
	cut       map[way]bool
	delay     func(from, to string) time.Duration
	double    func(from, to string, write int) bool
	conns     map[*conn]struct{}
	changed   chan struct{}  // closed and replaced whenever a cut ends
	starts    map[string]int // number of power failures by address
	damages   damages
}

// way is one direction between two addresses.
type way struct{ from, to string }

const (
	dialTimeout = time.Second
	// lossTimeout is the time after which a connection without acknowledgements from its peer ends, like the
	// transport's kernel setting.
	lossTimeout = time.Second
	backlog     = 64
)

// NewNetwork returns a network without delays.
func NewNetwork() *Network {
	return &Network{
		listeners: make(map[string]*listener), cut: make(map[way]bool), conns: make(map[*conn]struct{}),
		starts: make(map[string]int), changed: make(chan struct{}),
		delay: func(string, string) time.Duration { return 0 },
	}
}

// Delay sets the delay of messages between addresses. A connection preserves their order.
func (n *Network) Delay(f func(from, to string) time.Duration) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.delay = f
}

// Double makes writes to connections arrive twice if the function, given the write's number, says so; nil: none.
func (n *Network) Double(f func(from, to string, write int) bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.double = f
}

// Cut blocks traffic from one address to another, or unblocks it.
func (n *Network) Cut(from, to string, cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.cut[way{from, to}] == cut {
		return
	}
	if cut {
		n.cut[way{from, to}] = true
		return
	}
	delete(n.cut, way{from, to})
	n.announce()
}

// Heal ends all cuts.
func (n *Network) Heal() {
	n.mu.Lock()
	defer n.mu.Unlock()
	clear(n.cut)
	n.announce()
}

// announce wakes all waiters for the end of a cut. The lock is held.
func (n *Network) announce() {
	close(n.changed)
	n.changed = make(chan struct{})
}

// Reaches reports whether traffic from one address to another arrives.
func (n *Network) Reaches(from, to string) bool {
	cut, _ := n.isCut(from, to)
	return !cut
}

func (n *Network) isCut(from, to string) (bool, <-chan struct{}) {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.cut[way{from, to}], n.changed
}

// Break ends all connections of an address. Sent data arrives.
func (n *Network) Break(address string) {
	for _, c := range n.connsOf(address) {
		if c.local == address {
			c.Close()
		}
	}
}

// End ends the machine or process at an address: it dials and listens no more, and sent data arrives.
func (n *Network) End(address string) {
	n.mu.Lock()
	n.starts[address]++
	if l := n.listeners[address]; l != nil {
		delete(n.listeners, address)
		l.once.Do(func() { close(l.closed) })
	}
	n.mu.Unlock()
	n.Break(address)
}

func (n *Network) connsOf(address string) (all []*conn) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for c := range n.conns {
		if c.local == address || c.remote == address {
			all = append(all, c)
		}
	}
	return all
}

// Listen listens at an address, replacing the previous process's listener.
func (n *Network) Listen(address string) net.Listener {
	l := &listener{network: n, address: address, conns: make(chan net.Conn, backlog), closed: make(chan struct{})}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.listeners[address] = l
	return l
}

// listener implements net.Listener.
type listener struct {
	network *Network
	address string
	conns   chan net.Conn
	closed  chan struct{}
	once    sync.Once
}

// Accept implements net.Listener.
func (l *listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close implements net.Listener.
func (l *listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	l.network.mu.Lock()
	defer l.network.mu.Unlock()
	if l.network.listeners[l.address] == l {
		delete(l.network.listeners, l.address)
	}
	return nil
}

// Addr implements net.Listener.
func (l *listener) Addr() net.Addr { return address(l.address) }

// address implements net.Addr.
type address string

func (address) Network() string  { return "memory" }
func (a address) String() string { return string(a) }

// Dial returns a dialer for the current process at an address.
func (n *Network) Dial(from string) func(ctx context.Context, to string) (net.Conn, error) {
	n.mu.Lock()
	start := n.starts[from]
	n.mu.Unlock()
	return func(ctx context.Context, to string) (net.Conn, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, dialTimeout, os.ErrDeadlineExceeded)
		defer cancel()
		if err := errors.Join(n.await(ctx, from, to), n.await(ctx, to, from)); err != nil {
			return nil, err
		}
		return n.connect(start, from, to)
	}
}

// await waits until messages pass in one direction.
func (n *Network) await(ctx context.Context, from, to string) error {
	for {
		cut, changed := n.isCut(from, to)
		if !cut {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (n *Network) connect(start int, from, to string) (net.Conn, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	l := n.listeners[to]
	if l == nil || start != n.starts[from] {
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: address(to), Err: syscall.ECONNREFUSED}
	}
	out, in := newPipe(n, from, to), newPipe(n, to, from)
	near := &conn{network: n, local: from, remote: to, in: in, out: out}
	far := &conn{network: n, local: to, remote: from, in: out, out: in}
	select {
	case l.conns <- far:
		n.conns[near], n.conns[far] = struct{}{}, struct{}{}
		return near, nil
	default:
		return nil, &net.OpError{Op: "dial", Net: "memory", Addr: address(to), Err: syscall.ECONNREFUSED}
	}
}
