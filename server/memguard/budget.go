package memguard

import (
	"log/slog"
	"math/bits"
	"runtime/debug"
)

// LeastMemory is the minimum memory with which a host can run.
const LeastMemory = 64 << 20

// stateQuarters is the memory the host needs per byte counted in a quota, in quarters. Quotas count what the machines
// hold; connections, leases and tables come on top.
const stateQuarters = 5

// Budget divides a host's memory, in bytes. Zero means unknown: the host then uses a large host's limits.
type Budget uint64

// Heap returns the Go runtime's memory limit. The remaining memory is for the program itself, the kernel's buffers,
// and allocations during garbage collection: one eighth, at least 32 MiB and at most 1 GiB.
func (b Budget) Heap() uint64 {
	rest := min(max(b/8, 32<<20), 1<<30)
	return uint64(b - min(rest, b/2))
}

// HighMark returns the heap use above which growth is rejected. The remainder is for a start, a snapshot from a
// remote host, and garbage.
func (b Budget) HighMark() uint64 { return highMark(b.Heap()) }

func highMark(heap uint64) uint64 { return heap / 4 * 3 }

// ShardBytes returns the quota for each of the given number of shards: together a quarter of the heap, and at most
// the given number of bytes each. The quota is rounded, so that hosts with slightly different memory have the same
// quota.
func (b Budget) ShardBytes(shards int, most uint64) uint64 {
	if b == 0 {
		return most
	}
	return min(rounded(b.Heap()/4/uint64(max(shards, 1))), most)
}

// rounded rounds down to four significant binary digits.
func rounded(n uint64) uint64 {
	if drop := bits.Len64(n) - 4; drop > 0 {
		return n >> drop << drop
	}
	return n
}

// PendingBytes returns the limit for unsent bytes to clients.
func (b Budget) PendingBytes() uint64 { return b.share(16, 512<<20) }

// PartialBytes returns the limit for partially received requests.
func (b Budget) PartialBytes() uint64 { return max(b.share(32, 64<<20), leastPartial) }

// leastPartial is enough for a few requests with the maximum size.
const leastPartial = 8 << 20

// WatchBytes returns the memory limit for open watches.
func (b Budget) WatchBytes() uint64 { return b.share(16, 512<<20) }

// Connections returns the maximum number of client connections.
func (b Budget) Connections() int { return int(b.share(1, 1<<40) / connectionBytes) }

// connectionBytes is the memory budgeted per connection; an idle connection uses a quarter.
const connectionBytes = 32 << 10

// RecentBytes returns how much recent log the host keeps in memory.
func (b Budget) RecentBytes() int64 { return int64(b.share(32, 16<<20)) }

// QueuedBytes returns the maximum number of log bytes queued per peer.
func (b Budget) QueuedBytes() uint64 { return b.share(16, 128<<20) }

// CommandBytes returns the maximum number of bytes in commands that wait for a batch, for each of the given number of
// shards.
func (b Budget) CommandBytes(shards int) uint64 {
	return min(max(b.share(16, 1<<40)/uint64(max(shards, 1)), leastCommands), 64<<20)
}

// leastCommands is enough for a few commands with the maximum size.
const leastCommands = 4 << 20

// share returns a fraction of the heap (one part in part), limited to most bytes.
func (b Budget) share(part, most uint64) uint64 {
	if b == 0 {
		return most
	}
	return min(b.Heap()/part, most)
}

// around returns the memory needed for the given number of quota bytes.
func around(quota uint64) uint64 { return quota / 4 * stateQuarters }

// Promised returns the memory needed if all limits are fully used, including the overhead around shard quotas.
func Promised(shards int, shardBytes, pending, partial, watches uint64) uint64 {
	return uint64(shards)*around(shardBytes) + pending + partial + watches
}

// Guard returns the configuration for a memory guard. A lower Go runtime limit takes precedence.
func (b Budget) Guard(log *slog.Logger) Config {
	limit := uint64(debug.SetMemoryLimit(-1))
	if b != 0 {
		limit = min(limit, b.Heap())
	}
	return Config{Limit: limit, High: highMark(limit), Log: log}
}
