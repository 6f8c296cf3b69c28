package transport

import "time"

const (
	// HandshakeTimeout is how long a TLS handshake may take unless TLSOptions say otherwise.
	HandshakeTimeout = 5 * time.Second

	// HalfOpen is how many connections may be in their TLS handshake unless TLSOptions say otherwise, and at most half
	// of all connections; HalfOpenPerAddress how many of them may be of one address. Each
	// costs some 16 KiB of memory.
	HalfOpen           = 2048
	HalfOpenPerAddress = HalfOpen / 4 // see HalfOpen

	// halfOpenSilence is how long the peer of a half-open connection may be silent before the connection can be closed
	// to make room for another: longer than a handshake waits for its peer on all but the slowest networks, and short
	// against the patience of a client that connects.
	halfOpenSilence = 250 * time.Millisecond

	// MemoryBuffer is how many bytes wait in each direction of an in-memory connection before a write
	// blocks, unless Memory.SetBuffer says otherwise.
	MemoryBuffer = 256 << 10

	// lastWriteTimeout bounds the attempt to send what waits when a connection of ListenNet, ListenTLS
	// or Memory is closed. It is waited for only where the peer does not read.
	lastWriteTimeout = 100 * time.Millisecond

	// acceptors is how many goroutines take new connections of one listener. More than one, because
	// handing a connection to an event loop waits for that loop's turn.
	acceptors = 16

	// acceptPause is the longest pause after a failed accept: the process has no file descriptor left.
	acceptPause = time.Second

	// loopWrite is the size of an event loop's room for putting small buffers together into one write,
	// streamWrite the same for a connection with goroutines: one TLS record, and little enough for
	// thousands of writers that wait for slow peers.
	loopWrite   = 64 << 10
	streamWrite = 16 << 10

	// largestWrite is the most that is handed to the operating system at once by a goroutine that
	// writes. Pending is exact to this many bytes.
	largestWrite = 64 << 10

	// readRoom is what a connection with a goroutine reads into while it is idle, busyReadRoom when
	// more than that came at once.
	readRoom     = 4 << 10
	busyReadRoom = 64 << 10

	// keptBusyRooms is how many connections may keep such a room while they wait: 16 MiB.
	keptBusyRooms = 256

	// smallInbound is the room for what a connection has not consumed, as long as that is little; keptInbound up to how
	// much room is used again.
	smallInbound = 512
	keptInbound  = 8 << 10

	// keptQueue is how many places an outbox keeps when it is empty.
	keptQueue = 256

	// flushesPerTurn is how many connections an event loop writes to before it looks for arrived bytes
	// again, so that senders that never pause cannot keep it from reading.
	flushesPerTurn = 256

	// drainCheckInterval is how often an event loop looks whether connections with unsent bytes have
	// got rid of them, drainChecks how many connections it looks at each time.
	drainCheckInterval = 5 * time.Millisecond
	drainChecks        = 1024
)

// connectionLimit is the number of connections that a listener allows when its options do not say: what
// the limit of file descriptors leaves after a quarter of it, at most 4,096, is put aside for the files
// and connections of the rest of the process.
func connectionLimit(descriptors int) int {
	return max(descriptors-reservedFiles(descriptors), 1)
}

func reservedFiles(descriptors int) int { return min(descriptors/4, 4096) }

// DoorConnections is how many connections a door beside the listeners may have: half of what is put aside.
func DoorConnections() int { return max(reservedFiles(fileLimit())/2, 1) }

// assumedFileLimit is taken where the operating system does not say.
const assumedFileLimit = 16 << 10
