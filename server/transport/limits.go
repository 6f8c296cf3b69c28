package transport

import (
	"cmp"
	"runtime"
	"time"
)

const (
	// HandshakeTimeout is how long a TLS handshake may take unless TLSOptions say otherwise.
	HandshakeTimeout = 5 * time.Second

	// HalfOpen is the limit of connections in their TLS handshake unless TLSOptions say otherwise, and at most half
	// of all connections; HalfOpenPerAddress is the limit for a single address. A half-open connection costs some 16
	// KiB of memory.
	HalfOpen           = 2048
	HalfOpenPerAddress = HalfOpen / 4 // see HalfOpen

	// halfOpenSilence is how long the peer of a half-open connection may be silent before the connection can be closed
	// to make room for another: longer than a handshake waits for its peer on all but the slowest networks, and short
	// against the patience of a client that connects.
	halfOpenSilence = 250 * time.Millisecond

	// lastWriteTimeout bounds the attempt to send the queued bytes when a connection of ListenNet, ListenTLS or
	// Inside is closed. A closing connection waits so long only for a peer that does not read.
	lastWriteTimeout = 100 * time.Millisecond

	// acceptors is the number of goroutines that take new connections of one listener. A single goroutine is not
	// enough, because handing a connection to an event loop waits for the loop's turn.
	acceptors = 16

	// acceptPause is the longest pause after a failed accept: the process has no file descriptor left.
	acceptPause = time.Second

	// loopWrite is the size of an event loop's room for putting small buffers together into one write. streamWrite is
	// the size of the room of a connection with goroutines: a single TLS record, and little enough for thousands of
	// writers waiting for slow peers.
	loopWrite   = 64 << 10
	streamWrite = 16 << 10

	// largestWrite is the most bytes a writing goroutine hands to the operating system at once. Pending is exact to
	// largestWrite bytes.
	largestWrite = 64 << 10

	// readRoom is the size of the buffer of an idle connection with a goroutine, busyReadRoom the size after more
	// than readRoom bytes have come at once.
	readRoom     = 4 << 10
	busyReadRoom = 64 << 10

	// keptBusyRooms is how many waiting connections may keep a buffer of busyReadRoom: 16 MiB.
	keptBusyRooms = 256

	// smallInbound is the size of the room for the few unconsumed bytes of a connection; keptInbound is the size up
	// to which room is used again.
	smallInbound = 512
	keptInbound  = 8 << 10

	// keptQueue is how many places an empty outbox keeps.
	keptQueue = 256

	// flushesPerTurn is how many connections an event loop writes to before the loop looks for arrived bytes again.
	// So incessant senders cannot keep the loop from reading.
	flushesPerTurn = 256

	// drainCheckInterval is how often an event loop looks whether connections with unsent bytes have sent them, and
	// drainChecks how many connections the loop looks at every time.
	drainCheckInterval = 5 * time.Millisecond
	drainChecks        = 1024
)

// positive is a value of an option, or the default for a value that is not positive.
func positive[T int | time.Duration](value, otherwise T) T { return cmp.Or(max(value, 0), otherwise) }

// halfOfProcessors leaves half of the processors to the goroutines of the server's work.
func halfOfProcessors() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

// connectionLimit is the number of connections of a listener without a limit in its options: the limit of file
// descriptors less a quarter, at most 4,096. The quarter is reserved for files and for the connections of the rest of
// the process.
func connectionLimit(descriptors int) int {
	return max(descriptors-reservedFiles(descriptors), 1)
}

// FileConnections is how many connections a listener may have by the limit of file descriptors.
func FileConnections() int { return connectionLimit(fileLimit()) }

func reservedFiles(descriptors int) int { return min(descriptors/4, 4096) }

// GatewayConnections is how many connections a gateway beside the listeners may have: half of the reserved descriptors.
func GatewayConnections() int { return max(reservedFiles(fileLimit())/2, 1) }

// assumedFileLimit is the limit of file descriptors on an operating system that does not say.
const assumedFileLimit = 16 << 10
