// Package transport moves bytes between clients and the server: over TCP on an event loop, over TLS, and in memory. It
// does not interpret the bytes.
package transport

import (
	"crypto/tls"
	"net"

	"github.com/valyala/bytebufferpool"
)

// Buffers is the pool for the buffers passed to Conn.Send and Conn.Queue. Sent buffers are returned here.
var Buffers bytebufferpool.Pool

// Conn is the server's view of a client connection.
type Conn interface {
	// Send queues bytes for sending, and takes over their buffer: the transport returns the buffer to Buffers. Safe
	// for concurrent use; bytes are sent in call order. Send never blocks; the caller must monitor Pending. Send
	// never calls the Events. After Close, Send only takes the buffer.
	Send(buf *bytebufferpool.ByteBuffer)

	// Queue is Send for a caller that holds a lock: a write must not delay the caller, but the bytes must be sent
	// soon. If Queue returns true, the caller must call Flush after unlocking.
	Queue(buf *bytebufferpool.ByteBuffer) (flush bool)

	// Flush sends the queued bytes, on the calling goroutine if the operating system accepts them immediately, so
	// that no loop has to be woken. Flush neither blocks nor calls the Events.
	Flush()

	// Pending returns the number of bytes that were queued but not yet accepted by the operating system.
	Pending() int

	// Close closes the connection after one attempt to send the queued bytes, without waiting for the peer.
	// Events.Closed follows. Safe for concurrent use, and may be called more than once.
	Close()

	RemoteAddr() net.Addr

	// TLS returns a TLS connection's state, and nil for a plain connection.
	TLS() *tls.ConnectionState
}

// EarlyFlusher is a Conn that sends nothing while Events.Data runs, except through FlushEarly.
type EarlyFlusher interface {
	// FlushEarly sends the queued bytes, if the operating system accepts them immediately. Only Events.Data may call
	// FlushEarly. FlushEarly does not call the Events.
	FlushEarly()
}

// Events is the server's side of one connection. The transport calls a connection's methods one at a time, from
// Opened to Closed.
type Events interface {
	// Data receives the arrived, not yet consumed bytes, which are valid during the call. Data returns the number of
	// consumed bytes; the rest is passed again after more bytes have arrived. Data must not block. A negative result
	// closes the connection.
	Data(b []byte) (consumed int)

	// Drained is called when Pending has fallen to LowWater or below after it was above HighWater.
	Drained()

	// Closed is the last call: the connection is closed. err is the reason, nil if this side closed the connection.
	Closed(err error)
}

// Handler accepts new connections. Opened may be called from any goroutine, including an event loop, so it must not
// block. A nil result refuses the connection, which is closed after the bytes that Opened has sent.
type Handler interface {
	Opened(c Conn) Events
}

const (
	// HighWater is the number of unsent bytes above which a connection counts as slow. At LowWater it no longer
	// counts as slow.
	HighWater = 1 << 20
	LowWater  = 256 << 10 // see HighWater
)

// Listener accepts connections until Close.
type Listener interface {
	// Addr returns the listener's address, with the actual port.
	Addr() net.Addr
	// Close stops listening and closes all connections. When Close returns, no call of the handler or of an Events is
	// in progress or will follow, so Close must not be called from such a call. A second call is harmless.
	Close() error
}
