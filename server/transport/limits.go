package transport

import (
	"cmp"
	"runtime"
	"time"
)

const (
	// HandshakeTimeout is the time limit for a TLS handshake unless TLSOptions say otherwise.
	HandshakeTimeout = 5 * time.Second

	// HalfOpen is the maximum number of connections in their TLS handshake unless TLSOptions say otherwise; it is
	// also limited to half of all connections. HalfOpenPerAddress is the limit for a single address. A half-open
	// connection costs about 16 KiB of memory.
	HalfOpen           = 2048
	HalfOpenPerAddress = HalfOpen / 4 // see HalfOpen

	// halfOpenSilence is how long a half-open connection's peer may be silent before the connection can be closed to
	// free its slot: longer than a handshake waits for its peer on all but the slowest networks, and short compared
	// to the patience of a connecting client.
	halfOpenSilence = 250 * time.Millisecond

	// lastWriteTimeout limits the attempt to send the queued bytes when a ListenNet, ListenTLS or Inside connection
	// is closed. A closing connection only waits this long for a peer that does not read.
	lastWriteTimeout = 100 * time.Millisecond

	// acceptors is the number of goroutines that accept a listener's connections. A single goroutine is not enough,
	// because passing a connection to an event loop waits for the loop's turn.
	acceptors = 16

	// acceptPause is the maximum pause after a failed accept, when the process has no file descriptor left.
	acceptPause = time.Second

	// loopWrite is the size of an event loop's buffer for combining small buffers into one write. streamWrite is the
	// size for a connection with goroutines: a single TLS record, and small enough for thousands of writers that wait
	// for slow peers.
	loopWrite   = 64 << 10
	streamWrite = 16 << 10

	// largestWrite is the maximum number of bytes a writing goroutine passes to the operating system at once. Pending
	// is exact to within largestWrite bytes.
	largestWrite = 64 << 10

	// readRoom is the buffer size for an idle connection with a goroutine. busyReadRoom is the size after more than
	// readRoom bytes have arrived at once.
	readRoom     = 4 << 10
	busyReadRoom = 64 << 10

	// keptBusyRooms is the number of waiting connections that may keep a busyReadRoom buffer: 16 MiB.
	keptBusyRooms = 256

	// smallInbound is the buffer size for a connection's few unconsumed bytes. keptInbound is the maximum size of
	// reused buffers.
	smallInbound = 512
	keptInbound  = 8 << 10

	// keptQueue is the capacity an empty outbox keeps.
	keptQueue = 256

	// flushesPerTurn is the number of connections to which an event loop writes before it polls for arrived bytes
	// again. So constant senders cannot keep the loop from reading.
	flushesPerTurn = 256

	// drainCheckInterval is the interval at which an event loop checks whether unsent bytes have been sent.
	// drainChecks is the number of connections per check.
	drainCheckInterval = 5 * time.Millisecond
	drainChecks        = 1024
)

// positive returns an option's value, or the default for a value that is not positive.
func positive[T int | time.Duration](value, otherwise T) T { return cmp.Or(max(value, 0), otherwise) }

// halfOfProcessors leaves half the processors to the server's own work.
func halfOfProcessors() int { return max(runtime.GOMAXPROCS(0)/2, 1) }

// connectionLimit returns the maximum number of connections for a listener without a limit in its options: the file
// descriptor limit less a quarter, at most 4,096. That quarter is reserved for files and other connections in the
// process.
func connectionLimit(descriptors int) int {
	return max(descriptors-reservedFiles(descriptors), 1)
}

// FileConnections returns the maximum number of connections per listener the file descriptor limit allows.
func FileConnections() int { return connectionLimit(fileLimit()) }

func reservedFiles(descriptors int) int { return min(descriptors/4, 4096) }

// GatewayConnections returns the maximum number of connections for a gateway in addition to the listeners: half the
// reserved descriptors.
func GatewayConnections() int { return max(reservedFiles(fileLimit())/2, 1) }

// assumedFileLimit is the assumed file descriptor limit if the operating system does not report one.
const assumedFileLimit = 16 << 10
