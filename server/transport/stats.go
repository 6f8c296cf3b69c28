package transport

import "sync/atomic"

// Stats counts the connections of one or more listeners: those that are given the same Stats share one
// count, and so one limit. Any goroutine may read it at any time.
type Stats struct {
	// Open is the number of connections there are, those in a TLS handshake included.
	Open atomic.Int64
	// Accepted is the number of connections taken so far.
	Accepted atomic.Int64
	// Refused is the number of connections closed at once because Open was at the limit.
	Refused atomic.Int64
	// AcceptErrors is the number of times that the operating system would not hand over a connection,
	// as when the process has no file descriptor left.
	AcceptErrors atomic.Int64
	// FailedHandshakes is the number of connections that did not get through their TLS handshake.
	FailedHandshakes atomic.Int64
	// EvictedHandshakes is the number of those that were closed because their peers were silent and others needed the
	// room.
	EvictedHandshakes atomic.Int64
}
