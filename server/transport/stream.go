package transport

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/bytebufferpool"
)

// stream is a connection on goroutines: one that reads and calls Events, and, while there is something
// to send, one that writes. It runs over any net.Conn.
//
// It ends in one way only: its outbox is closed, by any goroutine with a reason; a writer finds that, makes the
// last attempt to send and hangs up; the reader wakes from that, waits for the writer, and calls
// Events.Closed.
type stream struct {
	out    outbox
	conn   net.Conn
	wire   net.Conn // under conn: what to close where conn would want to say goodbye first
	remote net.Addr
	secure *tls.ConnectionState

	// turn is held while a method of events runs, as both goroutines call them.
	turn   sync.Mutex
	events Events

	mu    sync.Mutex
	cause error // why the outbox was closed

	hungUp chan struct{} // closed when there is no writer and never will be
}

func newStream(conn, wire net.Conn, secure *tls.ConnectionState) *stream {
	return &stream{conn: conn, wire: wire, remote: wire.RemoteAddr(), secure: secure, hungUp: make(chan struct{})}
}

func (c *stream) Send(buf *bytebufferpool.ByteBuffer) {
	if c.out.put(buf) {
		go c.write()
	}
}

func (c *stream) Queue(buf *bytebufferpool.ByteBuffer) (flush bool) { return c.out.put(buf) }

// Flush leaves it to a goroutine, as a write may wait for the peer.
func (c *stream) Flush() { go c.write() }

func (c *stream) Pending() int { return int(c.out.pending.Load()) }

func (c *stream) Close() { c.end(nil) }

func (c *stream) RemoteAddr() net.Addr { return c.remote }

func (c *stream) TLS() *tls.ConnectionState { return c.secure }

// end closes the outbox and so ends the connection; the first cause counts.
func (c *stream) end(cause error) {
	c.mu.Lock()
	first, start := c.out.close()
	if first {
		c.cause = cause
	}
	c.mu.Unlock()
	if start {
		go c.write()
	} else if first {
		// A writer may be waiting for the peer.
		_ = c.conn.SetWriteDeadline(time.Now().Add(lastWriteTimeout))
	}
}

// serve is the reader. It returns when the connection is gone and its Events have heard of it.
func (c *stream) serve(handler Handler) {
	entered := c.out.enter()
	c.events = handler.Opened(c)
	if c.events == nil {
		c.end(nil)
	}
	c.endTurn(entered)
	if c.events != nil {
		c.end(c.read())
	}
	<-c.hungUp
	c.out.discard()
	if c.events != nil {
		c.mu.Lock()
		cause := c.cause
		c.mu.Unlock()
		c.turn.Lock()
		defer c.turn.Unlock()
		c.events.Closed(cause)
	}
}

// read delivers what arrives until the connection breaks, and returns why it did.
func (c *stream) read() error {
	var in inbound
	defer in.discard()
	idle := make([]byte, readRoom)
	room, busy := idle, (*[busyReadRoom]byte)(nil)
	defer func() {
		if busy != nil {
			putBusyRoom(busy)
		}
	}()
	for {
		n, err := c.conn.Read(room)
		if n > 0 && !c.deliver(&in, room[:n]) {
			return nil
		}
		if err != nil {
			return err
		}
		switch {
		case busy == nil && n == len(room):
			busy = getBusyRoom()
			room = busy[:]
		case busy != nil && (n <= readRoom || busyRoomsHeld.Load() > keptBusyRooms):
			putBusyRoom(busy)
			room, busy = idle, nil
		}
	}
}

// busyRooms holds what connections read into that have more to read than fits in readRoom.
var busyRooms = sync.Pool{New: func() any { return new([busyReadRoom]byte) }}

// busyRoomsHeld is how many of them connections have. Where those are many, a connection gives its own back before it
// waits for more: thousands may have sent much once and then nothing.
var busyRoomsHeld atomic.Int64

func getBusyRoom() *[busyReadRoom]byte {
	busyRoomsHeld.Add(1)
	return busyRooms.Get().(*[busyReadRoom]byte)
}

func putBusyRoom(room *[busyReadRoom]byte) {
	busyRooms.Put(room)
	busyRoomsHeld.Add(-1)
}

// deliver calls Data. It reports false when the connection is to be closed.
func (c *stream) deliver(in *inbound, fresh []byte) bool {
	entered := c.out.enter()
	c.turn.Lock()
	open := in.deliver(fresh, c.events)
	c.turn.Unlock()
	if !open {
		c.end(nil)
	}
	return c.endTurn(entered)
}

// endTurn lets go of the outbox if this turn entered it, and starts a writer for what was put meanwhile.
func (c *stream) endTurn(entered bool) (open bool) {
	more, closed := c.out.leave(entered)
	if entered && (more || closed) {
		go c.write()
	}
	return !closed
}
