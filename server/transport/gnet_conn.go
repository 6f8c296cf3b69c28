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

// directBytes is the maximum number of bytes written outside the loop; the loop writes larger outputs.
const directBytes = 16 << 10

// A direct write must be too small to make Drained due.
const _ = uint(HighWater - LowWater - directBytes)

// gnetConn is a connection on an event loop.
//
// All outgoing bytes go through the outbox and are written by its single sender: on the loop, at the latest at the
// end of the turn in which the bytes were queued, or by the caller of Flush. While Events.Data runs, gnet writes
// nothing, because a failed write would close the connection while Data uses it. The answers to requests that arrived
// together are sent together, except answers sent by FlushEarly, which leaves failures to the end of the turn.
type gnetConn struct {
	out    outbox
	remote net.Addr
	loop   *gnetLoop // set before the Handler sees the connection, like fd
	fd     int

	// The following fields belong to the sender. unsent is the number of bytes, when last checked, that gnet holds
	// because the operating system did not accept them.
	unsent int
	rest   *bytebufferpool.ByteBuffer // rest of a direct write, for the loop; nil if none

	// The following fields are used on the loop only.
	raw     gnet.Conn
	events  Events // nil for a connection refused by the Handler
	in      inbound
	watched bool
	sending bool // Events.Data is running, and the loop is the sender

	direct sync.Mutex // held while a goroutine outside the loop writes to fd, and when closed is set
	closed bool       // set on the loop; read on the loop, or with direct held
}

func (c *gnetConn) Send(buf *bytebufferpool.ByteBuffer) {
	if c.out.put(buf) {
		c.loop.flush(c)
	}
}

func (c *gnetConn) Queue(buf *bytebufferpool.ByteBuffer) (flush bool) { return c.out.put(buf) }

// Flush writes the queued bytes on the calling goroutine, as far as the operating system accepts them immediately:
// the loop need not be woken. The loop writes the rest, bytes queued meanwhile, and batches above directBytes.
func (c *gnetConn) Flush() {
	done := false // nothing is left to do, and the caller is no longer the sender
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

// FlushEarly implements EarlyFlusher. If another goroutine is writing, or the operating system does not accept the
// bytes, they are written at the end of the turn.
func (c *gnetConn) FlushEarly() {
	if c.sending && !c.closed && c.unsent == 0 && c.rest == nil {
		c.writeFew()
	}
}

// writeFew is called by the sender, and reports whether the operating system has accepted all queued bytes.
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
	// Drained, which only the loop may call, is never due here: the batch is smaller than the distance between
	// HighWater and LowWater.
	c.out.sent(max(n, 0))
	if err != nil || n < len(one.B) {
		one.B = append(one.B[:0], one.B[max(n, 0):]...)
		c.rest = one // if the operating system refuses the bytes, the loop will detect the reason
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

// Rounds returns the rounds of the connection's event loop.
func (c *gnetConn) Rounds() *Rounds { return &c.loop.rounds }

func (c *gnetConn) TLS() *tls.ConnectionState { return nil }

// gnet calls OnOpen, OnTraffic and OnClose on the connection's event loop.

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

// OnTraffic delivers the bytes the loop has read.
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

// endTurn passes the bytes queued during the connection's turn to gnet, and leaves the outbox, if the turn had
// entered it. gnet writes immediately unless it holds older bytes. If the turn had not entered, another sender
// handles the outbox: a caller of Flush, or a later turn on the loop, with the connection among the ready ones.
func (c *gnetConn) endTurn(entered bool) gnet.Action {
	if entered && !c.closed {
		loop := c.loop
		loop.batch = loop.batch[:0]
		if c.rest != nil {
			loop.batch, c.rest = append(loop.batch, c.rest), nil
		}
		loop.batch, _, _ = c.out.take(loop.batch, everything)
		given, err := writeTogether(c.raw, loop.room, loop.batch)
		if err == nil && !c.closed { // otherwise gnet has closed the connection
			// The bytes that gnet held before or was given, and no longer holds, were sent.
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

// flush is a ready connection's turn. flush closes the connection itself, because gnet only uses results from methods
// that gnet called.
func (c *gnetConn) flush() {
	if !c.closed && c.endTurn(true) == gnet.Close {
		// An error could only come from closing the descriptor; the connection is closed anyway.
		_ = c.raw.EventLoop().Close(c.raw)
	}
}

// recheck is called periodically while gnet holds unsent bytes.
func (c *gnetConn) recheck() {
	switch {
	case c.closed:
	case c.out.enter():
		c.flush()
	default: // the sender will leave the bytes to the loop, which accounts for them
		c.loop.watchUnsent(c)
	}
}

// OnClose ends the connection; gnet calls OnClose however the connection is closed. err is nil if the loop closed the
// connection itself.
func (l *gnetListener) OnClose(raw gnet.Conn, err error) gnet.Action {
	c := raw.Context().(*gnetConn)
	if c.closed {
		return gnet.None
	}
	if errors.Is(err, io.EOF) {
		err = io.EOF
	}
	c.direct.Lock() // gnet closes the descriptor next; its number may then be reused by a new connection
	c.closed = true
	c.direct.Unlock()
	if first, _ := c.out.close(); !first {
		err = nil // closed by this side, whatever error the operating system reported
	}
	var batch []*bytebufferpool.ByteBuffer
	if c.rest != nil {
		batch, c.rest = append(batch, c.rest), nil
	}
	batch, _, _ = c.out.take(batch, everything)
	if peerReads := err == nil || errors.Is(err, io.EOF); peerReads && len(batch) > 0 {
		// One attempt; gnet does not wait for the peer.
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
