package transport

import (
	"crypto/tls"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/valyala/bytebufferpool"
)

// stream is a connection on goroutines: a reader calls Events, and a writer writes while bytes are queued. A stream
// works over any net.Conn.
//
// A stream always ends in the same way. A goroutine with a reason closes the outbox. The writer finds the outbox
// closed, makes a last attempt to send, and hangs up. The reader wakes up because of the hang-up, waits for the
// writer, and calls Events.Closed.
type stream struct {
	out    outbox
	conn   net.Conn
	wire   net.Conn // under conn: closed directly if conn would first send a goodbye
	remote net.Addr
	secure *tls.ConnectionState

	// turn is held while a method of events runs, because both goroutines call them.
	turn   sync.Mutex
	events Events

	mu    sync.Mutex
	cause error // why the outbox was closed

	hungUp chan struct{} // closed when no writer is left and none will come
}

func newStream(conn, wire net.Conn, secure *tls.ConnectionState) *stream {
	return &stream{conn: conn, wire: wire, remote: wire.RemoteAddr(), secure: secure, hungUp: make(chan struct{})}
}

func (s *stream) Send(buf *bytebufferpool.ByteBuffer) {
	if s.out.put(buf) {
		go s.write()
	}
}

func (s *stream) Queue(buf *bytebufferpool.ByteBuffer) (flush bool) { return s.out.put(buf) }

// Flush starts a goroutine, because a write may wait for the peer.
func (s *stream) Flush() { go s.write() }

func (s *stream) Pending() int { return int(s.out.pending.Load()) }

func (s *stream) Close() { s.end(nil) }

func (s *stream) RemoteAddr() net.Addr { return s.remote }

func (s *stream) TLS() *tls.ConnectionState { return s.secure }

// end closes the outbox and so ends the connection; the first cause counts.
func (s *stream) end(cause error) {
	s.mu.Lock()
	first, start := s.out.close()
	if first {
		s.cause = cause
	}
	s.mu.Unlock()
	if start {
		go s.write()
	} else if first {
		// A writer may be waiting for the peer.
		_ = s.conn.SetWriteDeadline(time.Now().Add(lastWriteTimeout))
	}
}

// serve is the reader. serve returns after the connection is closed and Events.Closed has returned.
func (s *stream) serve(handler Handler) {
	entered := s.out.enter()
	s.events = handler.Opened(s)
	if s.events == nil {
		s.end(nil)
	}
	s.endTurn(entered)
	if s.events != nil {
		s.end(s.read())
	}
	<-s.hungUp
	s.out.discard()
	if s.events != nil {
		s.mu.Lock()
		cause := s.cause
		s.mu.Unlock()
		s.turn.Lock()
		defer s.turn.Unlock()
		s.events.Closed(cause)
	}
}

// read delivers arriving bytes until the connection breaks, and returns the cause.
func (s *stream) read() error {
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
		n, err := s.conn.Read(room)
		if n > 0 && !s.deliver(&in, room[:n]) {
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

// busyRooms pools read buffers for connections with more to read than fits in readRoom.
var busyRooms = sync.Pool{New: func() any { return new([busyReadRoom]byte) }}

// busyRoomsHeld is the number of busy buffers that connections hold. If many are held, a connection returns its
// buffer before it waits for more bytes: thousands of peers may have sent much once and then nothing.
var busyRoomsHeld atomic.Int64

func getBusyRoom() *[busyReadRoom]byte {
	busyRoomsHeld.Add(1)
	return busyRooms.Get().(*[busyReadRoom]byte)
}

func putBusyRoom(room *[busyReadRoom]byte) {
	busyRooms.Put(room)
	busyRoomsHeld.Add(-1)
}

// deliver calls Data. deliver returns false if the connection must be closed.
func (s *stream) deliver(in *inbound, fresh []byte) bool {
	entered := s.out.enter()
	s.turn.Lock()
	open := in.deliver(fresh, s.events)
	s.turn.Unlock()
	if !open {
		s.end(nil)
	}
	return s.endTurn(entered)
}

// endTurn leaves the outbox if the turn had entered it, and starts a writer for buffers put meanwhile.
func (s *stream) endTurn(entered bool) (open bool) {
	more, closed := s.out.leave(entered)
	if entered && (more || closed) {
		go s.write()
	}
	return !closed
}
