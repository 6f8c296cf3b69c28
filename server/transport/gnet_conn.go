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
)

// gnetConn is a connection on an event loop.
//
// All bytes to be sent go through the outbox and are written by its only sender: on the loop, at the latest at the
// end of the turn in which the bytes were queued, or by the caller of Flush (gnet_direct.go). While Events.Data runs,
// gnet writes nothing: a failed write would close the connection while Data uses the connection. The answers to
// requests that arrived together leave together, except answers sent by FlushEarly, which leaves a failure to the end
// of the turn.
type gnetConn struct {
	out      outbox
	listener *gnetListener
	remote   net.Addr
	loop     *gnetLoop // set before the Handler sees the connection, like fd
	fd       int

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

// opened begins the connection on the loop.
func (c *gnetConn) opened(raw gnet.Conn) gnet.Action {
	c.raw, c.fd, c.loop = raw, raw.Fd(), c.listener.loopOf(raw.EventLoop())
	c.loop.enter()
	entered := c.out.enter()
	c.events = c.listener.handler.Opened(c)
	if c.events == nil {
		c.out.close()
	}
	return c.endTurn(entered)
}

// arrived delivers the bytes read by the loop.
func (c *gnetConn) arrived() gnet.Action {
	fresh, err := c.raw.Next(-1)
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

// endTurn writes the bytes queued while this connection had the loop, and leaves the outbox, if the turn entered the
// outbox. If the turn did not enter, the outbox is up to its sender: a caller of Flush, or a later turn of the loop,
// with the connection among the ready connections.
func (c *gnetConn) endTurn(entered bool) gnet.Action {
	if entered {
		c.write()
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

// flush is the turn of a connection among the ready ones.
func (c *gnetConn) flush() {
	if !c.closed {
		c.act(c.endTurn(true))
	}
}

// act does the work of gnet after its own calls: gnet looks at the results of the methods called by gnet only.
func (c *gnetConn) act(action gnet.Action) {
	if action == gnet.Close {
		// An error could only come from closing the descriptor; the connection is gone all the same.
		_ = c.raw.EventLoop().Close(c.raw)
	}
}

// write hands the queued buffers to gnet. gnet writes at once unless it holds older bytes. The loop is the sender.
func (c *gnetConn) write() {
	if c.closed {
		return
	}
	loop := c.loop
	loop.batch = c.takeAll(loop.batch[:0])
	given, err := writeTogether(c.raw, loop.room, loop.batch)
	if err != nil || c.closed {
		return // gnet has closed the connection
	}
	c.account(given)
}

// takeAll takes the remainder of a direct write, and then the queued buffers.
func (c *gnetConn) takeAll(batch []*bytebufferpool.ByteBuffer) []*bytebufferpool.ByteBuffer {
	if c.rest != nil {
		batch = append(batch, c.rest)
		c.rest = nil
	}
	batch, _ = c.out.take(batch)
	return batch
}

// account compares the bytes held by gnet with the bytes held and given before: the difference was sent.
func (c *gnetConn) account(given int) {
	held := c.raw.OutboundBuffered()
	sent := c.unsent + given - held
	c.unsent = held
	if held > 0 {
		c.loop.watchUnsent(c)
	}
	if c.out.sent(sent) && c.events != nil {
		c.events.Drained()
	}
}

// recheck is called from time to time while gnet holds unsent bytes.
func (c *gnetConn) recheck() {
	if c.closed {
		return
	}
	if !c.out.enter() {
		c.loop.watchUnsent(c) // the sender will leave the bytes to the loop, and the loop accounts for them
		return
	}
	c.account(0)
	c.act(c.endTurn(true))
}

// gone ends the connection; gnet calls gone in every way of closing. err is nil if the loop closed the connection
// itself.
func (c *gnetConn) gone(err error) {
	if c.closed {
		return
	}
	c.direct.Lock() // gnet closes the descriptor next; the number may then be the number of a new connection
	c.closed = true
	c.direct.Unlock()
	if first, _ := c.out.close(); !first {
		err = nil // this side closed the connection, whatever the operating system said then
	}
	batch := c.takeAll(nil)
	if peerReads := err == nil || errors.Is(err, io.EOF); peerReads && len(batch) > 0 {
		// A single attempt; gnet does not wait for the peer.
		_, _ = writeTogether(c.raw, make([]byte, 0, streamWrite), batch)
	} else {
		putBack(batch)
	}
	c.out.discard()
	c.in.discard()
	c.listener.acceptor.release()
	c.loop.leave()
	if c.events != nil {
		c.events.Closed(err)
	}
}
