//go:build linux || darwin || freebsd

package transport

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"sync"

	"github.com/panjf2000/gnet/v2"
	"github.com/valyala/bytebufferpool"
	"golang.org/x/sys/unix"
)

// directBytes bounds the bytes written outside the loop; more bytes are for the loop.
const directBytes = 16 << 10

// A direct write must be too little to make Drained due.
const _ = uint(HighWater - LowWater - directBytes)

// gnetConn is a connection on an event loop.
//
// All bytes to be sent go through the outbox and are written by its only sender: on the loop, at the latest at the
// end of the turn in which the bytes were queued, or by the caller of Flush. While Events.Data runs, gnet writes
// nothing: a failed write would close the connection while Data uses the connection. The answers to requests that
// arrived together leave together, except answers sent by FlushEarly, which leaves a failure to the end of the turn.
type gnetConn struct {
	out    outbox
	remote net.Addr
	loop   *gnetLoop // set before the Handler sees the connection, like fd
	fd     int

	// The next fields belong to the sender. unsent counts the bytes in the hands of gnet because the operating system
	// did not take them, when last seen.
	unsent int
	rest   *bytebufferpool.ByteBuffer // the remainder of a direct write, for the loop; nil without a remainder

	// The next fields are touched on the loop only.
	raw     gnet.Conn
	events  Events // nil for a connection refused by the Handler
	in      inbound
	watched bool
	sending bool // Events.Data runs, and the loop is the sender

	direct sync.Mutex // held while a goroutine beside the loop writes to fd, and when closed is set
	closed bool       // set on the loop; read on the loop, or with direct held
}

func (c *gnetConn) Send(buf *bytebufferpool.ByteBuffer) {
	if c.out.put(buf) {
		c.loop.flush(c)
	}
}

func (c *gnetConn) Queue(buf *bytebufferpool.ByteBuffer) (flush bool) { return c.out.put(buf) }

// Flush writes the queued bytes on the calling goroutine, as far as the operating system takes the bytes at once: the
// loop need not be woken. The loop writes the remainder, bytes queued meanwhile, and batches above directBytes.
func (c *gnetConn) Flush() {
	done := false // nothing is left to do, and the caller is the sender no more
	if c.unsent == 0 {
		c.direct.Lock()
		if c.closed {
			done = true
		} else if c.writeFew() {
			more, closed := c.out.leave(true)
			done = !more && !closed
		}
		c.direct.Unlock()
	}
	if !done {
		c.loop.flush(c)
	}
}

// FlushEarly implements EarlyFlusher. While a second goroutine writes, and when the operating system does not take
// the bytes, the end of the turn writes them.
func (c *gnetConn) FlushEarly() {
	if c.sending && !c.closed && c.unsent == 0 && c.rest == nil {
		c.writeFew()
	}
}

// writeFew is called by the sender, and reports whether the operating system has taken all queued bytes.
func (c *gnetConn) writeFew() (all bool) {
	var few [4]*bytebufferpool.ByteBuffer
	batch, left, _ := c.out.take(few[:0], directBytes)
	if left || len(batch) == 0 {
		return !left
	}
	one := batch[0]
	for _, buf := range batch[1:] {
		one.B = append(one.B, buf.B...)
		Buffers.Put(buf)
	}
	n, err := unix.Write(c.fd, one.B)
	// Drained is never due here, and only the loop may call Drained: the batch is smaller than the distance between
	// HighWater and LowWater.
	c.out.sent(max(n, 0))
	if err != nil || n < len(one.B) {
		one.B = append(one.B[:0], one.B[max(n, 0):]...)
		c.rest = one // if the operating system refuses the bytes, the loop will find out why
		return false
	}
	Buffers.Put(one)
	return true
}

func (c *gnetConn) Pending() int { return int(c.out.pending.Load()) }

func (c *gnetConn) Close() {
	if _, start := c.out.close(); start {
		c.loop.flush(c)
	}
}

func (c *gnetConn) RemoteAddr() net.Addr { return c.remote }

// Rounds is about the event loop of the connection.
func (c *gnetConn) Rounds() *Rounds { return &c.loop.rounds }

func (c *gnetConn) TLS() *tls.ConnectionState { return nil }

// OnOpen, OnTraffic and OnClose are called by gnet on the event loop of the connection.

func (l *gnetListener) OnOpen(raw gnet.Conn) ([]byte, gnet.Action) {
	c := raw.Context().(*gnetConn)
	c.raw, c.fd, c.loop = raw, raw.Fd(), l.loopOf(raw.EventLoop())
	c.loop.enter()
	entered := c.out.enter()
	c.events = l.handler.Opened(c)
	if c.events == nil {
		c.out.close()
	}
	return nil, c.endTurn(entered)
}

// OnTraffic delivers the bytes read by the loop.
func (l *gnetListener) OnTraffic(raw gnet.Conn) gnet.Action {
	c := raw.Context().(*gnetConn)
	fresh, err := raw.Next(-1)
	if err != nil || len(fresh) == 0 || c.closed {
		return gnet.None
	}
	entered := c.out.enter()
	c.sending = entered
	if !c.in.deliver(fresh, c.events) {
		c.out.close()
	}
	c.sending = false
	return c.endTurn(entered)
}

// endTurn hands the bytes queued while this connection had the loop to gnet, and leaves the outbox, if the turn entered
// the outbox. gnet writes at once unless it holds older bytes. If the turn did not enter, the outbox is up to its
// sender: a caller of Flush, or a later turn of the loop, with the connection among the ready connections.
func (c *gnetConn) endTurn(entered bool) gnet.Action {
	if entered && !c.closed {
		loop := c.loop
		loop.batch = loop.batch[:0]
		if c.rest != nil {
			loop.batch, c.rest = append(loop.batch, c.rest), nil
		}
		loop.batch, _, _ = c.out.take(loop.batch, everything)
		given, err := writeTogether(c.raw, loop.room, loop.batch)
		if err == nil && !c.closed { // else gnet has closed the connection
			// Sent were the bytes that gnet held before or was given, and does not hold now.
			held := c.raw.OutboundBuffered()
			sent := c.unsent + given - held
			c.unsent = held
			if held > 0 {
				loop.watchUnsent(c)
			}
			if c.out.sent(sent) && c.events != nil {
				c.events.Drained()
			}
		}
	}
	if c.closed {
		return gnet.None
	}
	switch more, closed := c.out.leave(entered); {
	case closed:
		return gnet.Close
	case more:
		c.loop.flush(c)
	}
	return gnet.None
}

// flush is the turn of a connection among the ready ones. flush closes the connection itself: gnet looks at the results
// of the methods called by gnet only.
func (c *gnetConn) flush() {
	if !c.closed && c.endTurn(true) == gnet.Close {
		// An error could only come from closing the descriptor; the connection is gone all the same.
		_ = c.raw.EventLoop().Close(c.raw)
	}
}

// recheck is called from time to time while gnet holds unsent bytes.
func (c *gnetConn) recheck() {
	switch {
	case c.closed:
	case c.out.enter():
		c.flush()
	default: // the sender will leave the bytes to the loop, and the loop accounts for them
		c.loop.watchUnsent(c)
	}
}

// OnClose ends the connection; gnet calls OnClose in every way of closing. err is nil if the loop closed the connection
// itself.
func (l *gnetListener) OnClose(raw gnet.Conn, err error) gnet.Action {
	c := raw.Context().(*gnetConn)
	if c.closed {
		return gnet.None
	}
	if errors.Is(err, io.EOF) {
		err = io.EOF
	}
	c.direct.Lock() // gnet closes the descriptor next; the number may then be the number of a new connection
	c.closed = true
	c.direct.Unlock()
	if first, _ := c.out.close(); !first {
		err = nil // this side closed the connection, whatever the operating system said then
	}
	var batch []*bytebufferpool.ByteBuffer
	if c.rest != nil {
		batch, c.rest = append(batch, c.rest), nil
	}
	batch, _, _ = c.out.take(batch, everything)
	if peerReads := err == nil || errors.Is(err, io.EOF); peerReads && len(batch) > 0 {
		// A single attempt; gnet does not wait for the peer.
		_, _ = writeTogether(raw, make([]byte, 0, streamWrite), batch)
	} else {
		putBack(batch)
	}
	c.out.discard()
	c.in.discard()
	l.acceptor.release()
	c.loop.leave()
	if c.events != nil {
		c.events.Closed(err)
	}
	return gnet.None
}
