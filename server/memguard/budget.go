package memguard

import (
	"log/slog"
	"math/bits"
	"runtime/debug"
)

// LeastMemory is the least memory that a host can run with.
const LeastMemory = 64 << 20

// stateQuarters is how much memory the host takes for a byte that counts in a quota, in quarters. The quotas count what
// the machines hold; connections, leases and tables around them come on top.
const stateQuarters = 5

// Budget divides the memory of a host, in bytes. Zero stands for unknown memory: then the host has the bounds of a
// large one.
type Budget uint64

// Heap is the memory limit of the Go runtime. The rest of the memory is for the program itself, for the kernel's
// buffers and for what is allocated during a collection of garbage: an eighth, at least 32 MiB and at most 1 GiB.
func (b Budget) Heap() uint64 {
	rest := min(max(b/8, 32<<20), 1<<30)
	return uint64(b - min(rest, b/2))
}

// HighMark is how much of the heap may be in use before growth is refused. A start, a snapshot of another host, and
// garbage need the rest.
func (b Budget) HighMark() uint64 { return highMark(b.Heap()) }

func highMark(heap uint64) uint64 { return heap / 4 * 3 }

// ShardBytes is the quota of each of so many shards: a quarter of the heap together, and at most so many bytes
// each. It is rounded, so that hosts whose memory differs by a little have the same quota.
func (b Budget) ShardBytes(shards int, most uint64) uint64 {
	if b == 0 {
		return most
	}
	return min(rounded(b.Heap()/4/uint64(max(shards, 1))), most)
}

// rounded rounds down to four binary digits.
func rounded(n uint64) uint64 {
	if drop := bits.Len64(n) - 4; drop > 0 {
		return n >> drop << drop
	}
	return n
}

// PendingBytes is the limit of the bytes that wait to be sent to clients.
func (b Budget) PendingBytes() uint64 { return b.share(16, 512<<20) }

// PartialBytes is the limit of the bytes of requests that have arrived in part.
func (b Budget) PartialBytes() uint64 { return max(b.share(32, 64<<20), leastPartial) }

// leastPartial has room for a few requests of the largest size.
const leastPartial = 8 << 20

// WatchBytes is the limit of the memory of open watches.
func (b Budget) WatchBytes() uint64 { return b.share(16, 512<<20) }

// Connections is the largest number of client connections.
func (b Budget) Connections() int { return int(b.share(1, 1<<40) / connectionBytes) }

// connectionBytes is how much memory is set aside for a connection: an idle one takes a quarter of it.
const connectionBytes = 32 << 10

// RecentBytes is how much of its log the host keeps in memory.
func (b Budget) RecentBytes() int64 { return int64(b.share(32, 16<<20)) }

// QueuedBytes is how many bytes of the log wait for one other host at most.
func (b Budget) QueuedBytes() uint64 { return b.share(16, 128<<20) }

// CommandBytes is how many bytes of commands wait for the next batches of each of so many shards at most.
func (b Budget) CommandBytes(shards int) uint64 {
	return min(max(b.share(16, 1<<40)/uint64(max(shards, 1)), leastCommands), 64<<20)
}

// leastCommands has room for a few commands of the largest size.
const leastCommands = 4 << 20

// share is a part of the heap, and at most so many bytes.
func (b Budget) share(part, most uint64) uint64 {
	if b == 0 {
		return most
	}
	return min(b.Heap()/part, most)
}

// around is how much memory so many bytes of a quota take.
func around(quota uint64) uint64 { return quota / 4 * stateQuarters }

// Promised is how much memory limits take that are used to the full, the quotas of shards counted with what the host
// holds around them.
func Promised(shards int, shardBytes, pending, partial, watches uint64) uint64 {
	return uint64(shards)*around(shardBytes) + pending + partial + watches
}

// Guard is the configuration of a guard of the memory. A limit of the Go runtime that is lower counts.
func (b Budget) Guard(log *slog.Logger) Config {
	limit := uint64(debug.SetMemoryLimit(-1))
	if b != 0 {
		limit = min(limit, b.Heap())
	}
	return Config{Limit: limit, High: highMark(limit), Log: log}
}
