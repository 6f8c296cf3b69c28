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
// Everything to be sent goes through its outbox and is written by its one sender: on the loop, at the latest when
// the turn in which it was put there is over, or by the caller of Flush (gnet_direct.go). While Events.Data runs, gnet
// writes nothing: a write that fails would close the connection while Data uses it. The answers to requests that
// arrived together leave together, except for those that Data sends by FlushEarly, which leaves a failure to the end.
type gnetConn struct {
	out      outbox
	listener *gnetListener
	remote   net.Addr
	loop     *gnetLoop // set before the Handler sees the connection, like fd
	fd       int

	// What follows is the sender's.
	// bytes that gnet holds because the operating system would not take them, when last seen
	unsent int
	rest   *bytebufferpool.ByteBuffer // what a direct write has left to the loop; nil if there is nothing

	// What follows is touched on the loop only.
	raw     gnet.Conn
	events  Events // nil for a connection that the Handler refused
	in      inbound
	watched bool
	sending bool // Events.Data runs, and the loop is the sender

	direct sync.Mutex // held while a goroutine other than the loop's writes to fd, and when closed is set
	closed bool       // set on the loop; read there, or with direct held
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

// Rounds is about the event loop that the connection is on.
func (c *gnetConn) Rounds() *Rounds { return &c.loop.rounds }

func (c *gnetConn) TLS() *tls.ConnectionState { return nil }

// opened begins the connection's life on the loop.
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

// arrived delivers bytes that the loop has read.
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

// endTurn writes what was put while this connection had the loop, and lets go of the outbox, if this turn
// entered it. Otherwise that is up to the sender: one who flushes directly, or the turn of the loop that the connection
// is among the ready ones for.
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

// act does what gnet does with the result of the methods that it calls itself.
func (c *gnetConn) act(action gnet.Action) {
	if action == gnet.Close {
		// An error would be one of closing the descriptor; the connection is gone all the same.
		_ = c.raw.EventLoop().Close(c.raw)
	}
}

// write hands what is queued to gnet, which writes it at once if it holds nothing older. The loop is the sender.
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

// takeAll takes what a direct write has left, and what is queued.
func (c *gnetConn) takeAll(batch []*bytebufferpool.ByteBuffer) []*bytebufferpool.ByteBuffer {
	if c.rest != nil {
		batch = append(batch, c.rest)
		c.rest = nil
	}
	batch, _ = c.out.take(batch)
	return batch
}

// account compares what gnet holds with what it held and was given since.
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
		c.loop.watchUnsent(c) // the sender will leave it to the loop, which accounts for it
		return
	}
	c.account(0)
	c.act(c.endTurn(true))
}

// gone ends the connection's life; gnet calls it within every way of closing. err is nil if the loop
// closed the connection itself.
func (c *gnetConn) gone(err error) {
	if c.closed {
		return
	}
	c.direct.Lock() // gnet closes the descriptor next, and the number may then be that of another connection
	c.closed = true
	c.direct.Unlock()
	if first, _ := c.out.close(); !first {
		err = nil // this side closed it, whatever the operating system said then
	}
	batch := c.takeAll(nil)
	if peerReads := err == nil || errors.Is(err, io.EOF); peerReads && len(batch) > 0 {
		// One attempt, which gnet does not wait for.
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
