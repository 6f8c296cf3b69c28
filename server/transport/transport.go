// Package transport moves bytes between clients and the server: over TCP on an event loop, over TLS, and in memory. It
// does not interpret the bytes.
package transport

import (
	"crypto/tls"
	"net"

	"github.com/valyala/bytebufferpool"
)

// Buffers is the pool from which callers of Conn.Send and Conn.Queue take their buffers. Sent buffers are put back
// here.
var Buffers bytebufferpool.Pool

// Conn is a client connection, as the server sees the connection.
type Conn interface {
	// Send hands bytes over to be sent, and the buffer with the bytes: the transport puts the buffer back into
	// Buffers. All goroutines may call Send, and bytes are sent in the order of the calls. Send never blocks; the
	// caller has to watch how much waits to be sent. Send never calls the Events. After Close, Send only takes the
	// buffer.
	Send(buf *bytebufferpool.ByteBuffer)

	// Queue is Send for a caller that holds a lock: a write must not delay the caller, and yet the bytes have to be
	// on their way soon. If Queue returns true, the caller has to call Flush after unlocking.
	Queue(buf *bytebufferpool.ByteBuffer) (flush bool)

	// Flush sends the queued bytes, on the calling goroutine if the operating system takes the bytes at once: no loop
	// has to be woken then. Flush neither blocks nor calls the Events.
	Flush()

	// Pending returns how many bytes were handed over and not yet taken by the operating system.
	Pending() int

	// Close closes the connection after a single attempt to send the queued bytes, without waiting for the peer.
	// Events.Closed follows. All goroutines may call Close, more than once.
	Close()

	RemoteAddr() net.Addr

	// TLS returns the state of a TLS connection, and nil for a plain connection.
	TLS() *tls.ConnectionState
}

// EarlyFlusher is a Conn that sends nothing while Events.Data runs, except by FlushEarly.
type EarlyFlusher interface {
	// FlushEarly sends the queued bytes, if the operating system takes the bytes at once. Only Events.Data may call
	// FlushEarly. FlushEarly does not call the Events.
	FlushEarly()
}

// Events is the server's side of one connection. The transport makes one call at a time to the methods of a
// connection, from Opened to Closed.
type Events interface {
	// Data gets the arrived and not yet consumed bytes, which are valid during the call. Data returns how many bytes
	// were consumed; the remainder comes again when more bytes have arrived. Data must not block. A return below zero
	// closes the connection.
	Data(b []byte) (consumed int)

	// Drained is called when Pending has fallen to LowWater or below after it was above HighWater.
	Drained()

	// Closed is the last call: the connection is gone. err says why, nil if this side closed the connection.
	Closed(err error)
}

// Handler takes new connections. Every goroutine may call Opened, an event loop too, so Opened must not block. A nil
// result refuses the connection; the connection is closed after the bytes sent by Opened.
type Handler interface {
	Opened(c Conn) Events
}

const (
	// HighWater is the number of bytes waiting to be sent above which a connection counts as slow. LowWater is the
	// number at which the connection counts as keeping up again.
	HighWater = 1 << 20
	LowWater  = 256 << 10 // see HighWater
)

// Listener takes connections until Close.
type Listener interface {
	// Addr is the address of the listener, with the actual port.
	Addr() net.Addr
	// Close stops listening and closes all connections. When Close returns, no call of the handler or of an Events is
	// under way or will come, so Close must not be called within them. A second call does no harm.
	Close() error
}
