// package transport brings the bytes of client connections to the server and back: over TCP on an
// event loop, over TLS, and in memory. What the bytes mean is not its concern.
package transport

import (
	"crypto/tls"
	"net"

	"github.com/valyala/bytebufferpool"
)

// Buffers is where buffers that are given to Conn.Send and Conn.Queue are to be taken from: they are put back here when
// they are sent.
var Buffers bytebufferpool.Pool

// Conn is one client connection, as the server sees it.
type Conn interface {
	// Send hands bytes over to be sent, and the buffer with them: the transport puts it back into
	// Buffers. What is handed over first is sent first, by whichever goroutine. It never blocks; how
	// much waits to be sent is for the caller to watch. It never calls any of the Events. After Close
	// it only takes the buffer.
	Send(buf *bytebufferpool.ByteBuffer)

	// Queue is Send for who cannot be delayed by a write, because of a lock that it holds, and yet wants the
	// bytes to be on their way soon: where it returns true it is up to the caller to call Flush, when it
	// has let go of the lock.
	Queue(buf *bytebufferpool.ByteBuffer) (flush bool)

	// Flush sends what is queued, on the calling goroutine where it can be done at once: no loop has to be woken for
	// it. It neither blocks nor calls any of the Events.
	Flush()

	// Pending returns how many bytes were handed over that the operating system has not taken yet.
	Pending() int

	// Close closes the connection after one attempt to send what waits, without waiting for the peer.
	// Events.Closed follows. Any goroutine may call it, more than once.
	Close()

	RemoteAddr() net.Addr

	// TLS returns the state of a TLS connection, nil for others.
	TLS() *tls.ConnectionState
}

// EarlyFlusher is a Conn that sends nothing while Events.Data runs, except by FlushEarly.
type EarlyFlusher interface {
	// FlushEarly sends what is queued, where that can be done at once. Only Events.Data may call it. It calls none of
	// the Events.
	FlushEarly()
}

// Events is what the server wants to hear of one connection. The transport calls the methods of one
// connection one at a time, from Opened to Closed.
type Events interface {
	// Data gives the bytes that have arrived and were not consumed yet; they are valid during the call.
	// It returns how many of them it took; the rest comes again when more has arrived. It must not
	// block. A return below zero closes the connection.
	Data(b []byte) (consumed int)

	// Drained is called when Pending has fallen to LowWater or below after it was above HighWater.
	Drained()

	// Closed is the last call: the connection is gone. err says why, nil if this side closed it.
	Closed(err error)
}

// Handler takes new connections. Opened is called from any goroutine, of an event loop too, so it must not
// block; a nil result refuses the connection, which is closed after what Opened sent.
type Handler interface {
	Opened(c Conn) Events
}

const (
	// HighWater is the number of bytes waiting to be sent above which a connection counts as slow,
	// LowWater the one from which on it counts as keeping up again.
	HighWater = 1 << 20
	LowWater  = 256 << 10 // see HighWater
)

// Listener takes connections until it is closed.
type Listener interface {
	// Addr is where it listens, with the port that it really got.
	Addr() net.Addr
	// Close stops listening and closes all connections; when it returns no call of the handler or of
	// any Events is under way or comes. So it must not be called from within one. A second call does
	// no harm.
	Close() error
}
