package raftlogtest

import (
	"io"
	"net"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"
)

// conn is one end of a connection. It implements net.Conn.
type conn struct {
	network       *Network
	local, remote string
	in, out       *pipe
}

// Read implements net.Conn.
func (c *conn) Read(b []byte) (int, error) { return c.in.read(b) }

// Write implements net.Conn.
func (c *conn) Write(b []byte) (int, error) { return c.out.write(b) }

// Close implements net.Conn. Written data still arrives.
func (c *conn) Close() error {
	c.in.change(func() { c.in.unread = true })
	c.out.change(func() { c.out.over = true })
	c.network.mu.Lock()
	defer c.network.mu.Unlock()
	delete(c.network.conns, c)
	return nil
}

// LocalAddr implements net.Conn.
func (c *conn) LocalAddr() net.Addr { return address(c.local) }

// RemoteAddr implements net.Conn.
func (c *conn) RemoteAddr() net.Addr { return address(c.remote) }

// SetDeadline implements net.Conn.
func (c *conn) SetDeadline(t time.Time) error {
	_ = c.SetReadDeadline(t)
	return c.SetWriteDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *conn) SetReadDeadline(t time.Time) error {
	c.in.change(func() { c.in.readBy = t })
	return nil
}

// SetWriteDeadline implements net.Conn.
func (c *conn) SetWriteDeadline(t time.Time) error {
	c.out.change(func() { c.out.writeBy = t })
	return nil
}

// pipe is one direction of a connection.
type pipe struct {
	network  *Network
	from, to string

	mu              sync.Mutex // guards what follows
	chunks          []chunk
	bytes, writes   int
	over            bool // the writer has closed the connection
	unread          bool // the reader has
	readBy, writeBy time.Time
	changed         chan struct{} // closed and replaced at every change
}

// chunk is the bytes of one write.
type chunk struct {
	data          []byte
	sent, arrives time.Time
}

// pipeBytes is how much is under way at the most.
const pipeBytes = 1 << 20

func newPipe(n *Network, from, to string) *pipe {
	return &pipe{network: n, from: from, to: to, changed: make(chan struct{})}
}

func (p *pipe) change(do func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do()
	p.announce()
}

// announce wakes the reader and the writer. The lock is held.
func (p *pipe) announce() {
	close(p.changed)
	p.changed = make(chan struct{})
}

// wait waits for a change of the pipe or the network, or until a time; zero means none. The lock is held, except during
// the wait.
func (p *pipe) wait(until time.Time, healed <-chan struct{}) {
	changed := p.changed
	p.mu.Unlock()
	defer p.mu.Lock()
	var late <-chan time.Time
	if !until.IsZero() {
		timer := time.NewTimer(time.Until(until))
		defer timer.Stop()
		late = timer.C
	}
	select {
	case <-changed:
	case <-healed:
	case <-late:
	}
}

// over reports whether a time has come.
func over(at time.Time) bool { return !at.IsZero() && !time.Now().Before(at) }

// earlier returns the earlier of two times; zero means none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

func (p *pipe) read(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		cut, healed := p.network.isCut(p.from, p.to)
		switch {
		case p.unread:
			return 0, net.ErrClosed
		case over(p.readBy):
			return 0, os.ErrDeadlineExceeded
		case cut:
			p.wait(p.readBy, healed)
		case len(p.chunks) > 0 && over(p.chunks[0].arrives):
			return p.take(b), nil
		case len(p.chunks) > 0:
			p.wait(earlier(p.readBy, p.chunks[0].arrives), nil)
		case p.over:
			return 0, io.EOF
		default:
			p.wait(p.readBy, nil)
		}
	}
}

// take takes bytes from the first chunk. The lock is held.
func (p *pipe) take(b []byte) int {
	c := &p.chunks[0]
	n := copy(b, c.data)
	c.data = c.data[n:]
	if len(c.data) == 0 {
		p.chunks = slices.Delete(p.chunks, 0, 1)
	}
	if p.bytes -= n; p.bytes+n >= pipeBytes {
		p.announce()
	}
	return n
}

func (p *pipe) write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for {
		cut, healed := p.network.isCut(p.from, p.to)
		switch {
		case p.over:
			return 0, net.ErrClosed
		case p.unread && !cut:
			return 0, syscall.EPIPE
		case over(p.writeBy):
			return 0, os.ErrDeadlineExceeded
		case cut && len(p.chunks) > 0 && over(p.chunks[0].sent.Add(lossTimeout)):
			return 0, syscall.ETIMEDOUT
		case p.bytes < pipeBytes:
			p.add(b)
			return len(b), nil
		default:
			p.wait(p.writeBy, healed)
		}
	}
}

// add adds a chunk. The lock is held.
func (p *pipe) add(b []byte) {
	now := time.Now()
	p.network.mu.Lock()
	delay, double := p.network.delay, p.network.double
	p.network.mu.Unlock()
	arrives := now.Add(delay(p.from, p.to))
	if n := len(p.chunks); n > 0 && arrives.Before(p.chunks[n-1].arrives) {
		arrives = p.chunks[n-1].arrives
	}
	times := 1
	if p.writes++; double != nil && double(p.from, p.to, p.writes) {
		times = 2
	}
	for range times {
		p.chunks = append(p.chunks, chunk{slices.Clone(b), now, arrives})
		p.bytes += len(b)
	}
	p.announce()
}
