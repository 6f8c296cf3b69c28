package raftlog

import (
	"cmp"
	"sync"
)

// The cost of applying the log at a restart is measured in snapshot bytes. Restoring a snapshot with ten million
// semaphores takes 16 ns per byte. Applying takes 2 us per entry (125 bytes), and 0.5 to 1.3 us for each command in it
// (30 to 80 bytes). The constants are higher, so applying the log takes half the time of restoring the snapshot, and so
// that in a shard with little data the log's entry positions, 80 bytes each, do not take much memory.
const (
	// BatchBytes is the fixed cost per batch in Config.SnapshotBytes and Config.KeepBytes, beside its data.
	BatchBytes = 512
	// CommandBytes is the fixed cost per command in Config.SnapshotBytes, beside its data.
	CommandBytes = 160
	// entryBytes is the approximate log space for an entry beside its data.
	entryBytes = 32
)

// point is a log position, with the totals applied by the replica from its start up to the position.
type point struct {
	index    uint64
	bytes    uint64
	commands uint64
}

// bytesSince is the log length between an earlier point and this one.
func (p point) bytesSince(from point) uint64 { return p.bytes - from.bytes }

// weightSince is the length, including the memory kept for each entry.
func (p point) weightSince(from point) uint64 {
	return p.bytesSince(from) + (p.index-from.index)*(BatchBytes-entryBytes)
}

// costSince is the restart cost for the log between the points.
func (p point) costSince(from point) uint64 {
	return p.weightSince(from) + (p.commands-from.commands)*CommandBytes
}

// growth counts how much a replica's log has grown since its last snapshot, and decides when the next snapshot is due:
// when the log costs a restart as much as the last snapshot, but not before its weight reaches DefaultSnapshotBytes,
// which a restart applies in two seconds. A config can set the cost instead.
type growth struct {
	every uint64 // log cost between two snapshots; 0: the last snapshot's cost
	keep  uint64 // weight of the log kept behind a snapshot
	due   chan struct{}

	mu       sync.Mutex
	started  bool // an entry was applied since the start, or since the last restored snapshot
	last     point
	saved    point   // at the last snapshot
	prepared point   // at the snapshot in progress
	written  point   // at the last written snapshot, which the engine may still give up
	wrote    uint64  // size of the last written snapshot
	behind   []point // past points, oldest first, a few for the kept log
	size     uint64  // last snapshot's size
}

// pointsKept is the number of recorded points in the kept log. The kept log exceeds the wanted length by at most
// 1/pointsKept.
const pointsKept = 8

func newGrowth(every, keep uint64) *growth {
	return &growth{every: every, keep: keep, due: make(chan struct{}, 1)}
}

// grown returns how much the log has grown since a point, as a multiple of the log length between two snapshots. The
// caller holds the lock.
func (g *growth) grown(from point) float64 {
	if g.every > 0 {
		return float64(g.last.costSince(from)) / float64(g.every)
	}
	return min(float64(g.last.costSince(from))/float64(max(1, g.size)),
		float64(g.last.weightSince(from))/DefaultSnapshotBytes)
}

// isDue reports whether a snapshot is due. The caller holds the lock.
func (g *growth) isDue() bool { return g.grown(g.saved) >= 1 }

// add counts applied entries: the first and the last index, and the total bytes and commands.
func (g *growth) add(first, last uint64, bytes, commands int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		g.started = true
		g.saved = g.last
		g.saved.index = first - 1
		g.behind = append(g.behind[:0], g.saved)
	}
	g.last.index = last
	g.last.bytes += uint64(bytes) + (last-first+1)*entryBytes
	g.last.commands += uint64(commands)
	if g.last.weightSince(g.behind[len(g.behind)-1]) >= max(1, g.keep/pointsKept) {
		g.behind = append(g.behind, g.last)
	}
	n := 0
	for n+1 < len(g.behind) && g.last.weightSince(g.behind[n+1]) >= g.keep {
		n++
	}
	g.behind = append(g.behind[:0], g.behind[n:]...)
	if g.isDue() {
		signal(g.due)
	}
}

// outruns reports whether the log grows faster than the snapshot in progress, which has the given number of bytes
// written. The snapshot should be complete by the time the log has grown, since the preparation, by half of what makes
// the next snapshot due, or by an eighth of that in bytes: slow saving must make neither a restart nor the log much
// longer. The size estimate is the last snapshot's size plus a quarter.
func (g *growth) outruns(written uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	size := g.size + g.size/4
	if g.size == 0 {
		size = g.prepared.bytesSince(g.saved)
	}
	if written >= size {
		return true // the remaining length is unknown
	}
	longest := cmp.Or(g.every, max(DefaultSnapshotBytes, g.size)) // in bytes
	grown := max(2*g.grown(g.prepared), 8*float64(g.last.bytesSince(g.prepared))/float64(longest))
	return grown > float64(written)/float64(size)
}

// check reports whether a snapshot is due: a woken caller may find that a snapshot has been saved meanwhile.
func (g *growth) check() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isDue()
}

// sinceSnapshot is the log length behind the last snapshot, in bytes.
func (g *growth) sinceSnapshot() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last.bytesSince(g.saved)
}

// snapshotBytes is the last snapshot's size.
func (g *growth) snapshotBytes() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.size
}

// prepare notes that a snapshot is being made from the state applied so far.
func (g *growth) prepare() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prepared = g.last
}

// write notes that the prepared snapshot is written, with its size.
func (g *growth) write(size uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.written, g.wrote = g.prepared, size
}

// save notes that the written snapshot is saved: the log before it may be dropped.
func (g *growth) save() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved, g.size = g.written, g.wrote
}

// givenUp reports whether the last written snapshot was not saved.
func (g *growth) givenUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written.index > g.saved.index
}

// restore notes that the state now comes from a snapshot. The snapshot's log position becomes known with the next
// entry.
func (g *growth) restore(size uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.saved, g.written, g.size = false, g.last, g.last, size
}

// compactTo returns the index up to which the log may be dropped once a snapshot has the state applied so far; false if
// no part may be dropped.
func (g *growth) compactTo() (uint64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.behind) == 0 || g.last.weightSince(g.behind[0]) < g.keep {
		return 0, false
	}
	return g.behind[0].index, g.behind[0].index > 0
}

// signal wakes the reader of a channel with capacity 1.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
