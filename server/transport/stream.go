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

func (s *stream) Send(buf *bytebufferpool.ByteBuffer) {
	if s.out.put(buf) {
		go s.write()
	}
}

func (s *stream) Queue(buf *bytebufferpool.ByteBuffer) (flush bool) { return s.out.put(buf) }

// Flush leaves it to a goroutine, as a write may wait for the peer.
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

// serve is the reader. It returns when the connection is gone and its Events have heard of it.
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

// read delivers what arrives until the connection breaks, and returns why it did.
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

// endTurn lets go of the outbox if this turn entered it, and starts a writer for what was put meanwhile.
func (s *stream) endTurn(entered bool) (open bool) {
	more, closed := s.out.leave(entered)
	if entered && (more || closed) {
		go s.write()
	}
	return !closed
}
