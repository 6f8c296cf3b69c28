package logdb

import (
	"slices"
	"sync"
	"unsafe"

	pb "github.com/lni/dragonboat/v4/raftpb"
)

// recent keeps the entries in memory that were saved last, of all replicas of a host: the engine reads them again when
// it applies them, and when it sends them to replicas that lag a little.
type recent struct {
	limit int64

	mu    sync.Mutex
	used  int64
	queue []*chunk // oldest first
	// What the next chunks are made of: most are of one short entry, and two allocations for each would show.
	chunks []chunk
	spare  []pb.Entry
}

// chunk is the entries of one record.
type chunk struct {
	entries []pb.Entry // nil once they are not kept any more; guarded by recent.mu
	bytes   int64
}

const (
	// chunkBytes is about what a chunk takes beside its entries.
	chunkBytes = 128
	// allocatedTogether is for how many chunks, or entries, memory is allocated at once. It is free when none of them
	// is kept, so long entries have their own.
	allocatedTogether = 32
	longEntries       = 16 << 10
)

// add keeps the entries of a record, and no longer those that were kept for the longest time. The commands are shared
// with the engine, which does not change them.
func (r *recent) add(entries []pb.Entry) *chunk {
	bytes := int64(chunkBytes)
	for i := range entries {
		bytes += int64(unsafe.Sizeof(entries[i])) + int64(len(entries[i].Cmd))
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c := r.newChunk()
	c.entries, c.bytes = r.clone(entries, bytes), bytes
	r.queue = append(r.queue, c)
	r.used += c.bytes
	for r.used > r.limit {
		old := r.queue[0]
		r.queue[0] = nil
		r.queue = r.queue[1:]
		r.used -= old.bytes
		old.entries = nil
	}
	return c
}

// newChunk returns an empty chunk. The lock is held.
func (r *recent) newChunk() *chunk {
	if len(r.chunks) == 0 {
		r.chunks = make([]chunk, allocatedTogether)
	}
	c := &r.chunks[0]
	r.chunks = r.chunks[1:]
	return c
}

// clone copies entries of that many bytes. The lock is held.
func (r *recent) clone(entries []pb.Entry, bytes int64) []pb.Entry {
	if bytes > longEntries {
		return slices.Clone(entries)
	}
	n := len(entries)
	if n > len(r.spare) {
		r.spare = make([]pb.Entry, max(n, allocatedTogether))
	}
	cloned := r.spare[:n:n]
	copy(cloned, entries)
	r.spare = r.spare[n:]
	return cloned
}

// entries returns the entries of a chunk, nil where they are not kept.
func (r *recent) entries(c *chunk) []pb.Entry {
	if c == nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	return c.entries
}

// drop gives up the entries of a chunk. What it took is free when its turn comes.
func (r *recent) drop(c *chunk) {
	if c == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	c.entries = nil
}
