package raftlog

import (
	"cmp"
	"sync"
)

// What a restart takes to apply the log is counted in bytes of a snapshot. A byte of a snapshot with ten million
// semaphores is restored in 16 ns, and an entry is applied in 2 us, each command of the entry in 0.5 to 1.3 us: 125
// bytes, and 30 to 80. They count for more, so that the log is applied in half of the time that the snapshot takes; and
// where a shard has little, so that the places of entries in the log do not take much memory, 80 bytes each.
const (
	// BatchBytes is what a batch counts in Config.SnapshotBytes and Config.KeepBytes beside its data.
	BatchBytes = 512
	// CommandBytes is what a command counts in Config.SnapshotBytes beside its data.
	CommandBytes = 160
	// entryBytes is about the room of an entry in the log beside its data.
	entryBytes = 32
)

// point is a place in the log, with what the replica has applied up to the place since its start.
type point struct {
	index    uint64
	bytes    uint64
	commands uint64
}

// bytesSince is the length of the log between an earlier point and this one.
func (p point) bytesSince(from point) uint64 { return p.bytes - from.bytes }

// weightSince is the length with what the log keeps in memory for each entry.
func (p point) weightSince(from point) uint64 {
	return p.bytesSince(from) + (p.index-from.index)*(BatchBytes-entryBytes)
}

// costSince is what the log between the points costs a restart.
func (p point) costSince(from point) uint64 {
	return p.weightSince(from) + (p.commands-from.commands)*CommandBytes
}

// growth counts how much a replica's log has grown since its last snapshot, and says when the next snapshot is due:
// when the log costs a restart as much as the last snapshot, but not before it weighs DefaultSnapshotBytes, which a
// restart applies in two seconds. A config can give the cost instead.
type growth struct {
	every uint64 // the cost of the log between two snapshots; 0: that of the last snapshot
	keep  uint64 // the weight of the log that stays behind a snapshot
	due   chan struct{}

	mu       sync.Mutex
	started  bool // an entry was applied since the start, or since the last restored snapshot
	last     point
	saved    point   // of the last snapshot
	prepared point   // of the snapshot under way
	written  point   // of the snapshot written last, which the engine may still give up
	wrote    uint64  // the size of the snapshot written last
	behind   []point // past points, the oldest first, a few for the kept log
	size     uint64  // of the last snapshot
}

// pointsKept is the number of points for the kept log, which is longer than wanted by at most one part of so many.
const pointsKept = 8

func newGrowth(every, keep uint64) *growth {
	return &growth{every: every, keep: keep, due: make(chan struct{}, 1)}
}

// grown returns how much the log has grown since a point, in lengths of the log between two snapshots. The lock is
// held.
func (g *growth) grown(from point) float64 {
	if g.every > 0 {
		return float64(g.last.costSince(from)) / float64(g.every)
	}
	return min(float64(g.last.costSince(from))/float64(max(1, g.size)),
		float64(g.last.weightSince(from))/DefaultSnapshotBytes)
}

// isDue reports whether a snapshot is due. The lock is held.
func (g *growth) isDue() bool { return g.grown(g.saved) >= 1 }

// add counts applied entries: the index of the first and of the last entry, the bytes and the commands of all.
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

// outruns reports whether the log grows faster than the snapshot under way, of which so many bytes are written. The
// snapshot should be whole by the time the log has grown, since the preparation, by half of what makes the next one
// due, or by an eighth of that in bytes: slow saving must make neither a restart nor the log much longer. The estimate
// of the size is the size of the last snapshot and a quarter more.
func (g *growth) outruns(written uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	size := g.size + g.size/4
	if g.size == 0 {
		size = g.prepared.bytesSince(g.saved)
	}
	if written >= size {
		return true // the length of the rest is unknown
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

// sinceSnapshot is the length of the log behind the last snapshot in bytes.
func (g *growth) sinceSnapshot() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last.bytesSince(g.saved)
}

// snapshotBytes is the size of the last snapshot.
func (g *growth) snapshotBytes() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.size
}

// prepare notes that a snapshot of the state applied so far is being made.
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

// save notes that the written snapshot is saved: the log before the snapshot may go.
func (g *growth) save() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved, g.size = g.written, g.wrote
}

// givenUp reports whether the snapshot written last was not saved.
func (g *growth) givenUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written.index > g.saved.index
}

// restore notes that the state comes from a snapshot now. The place of the snapshot in the log is known with the next
// entry.
func (g *growth) restore(size uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.saved, g.written, g.size = false, g.last, g.last, size
}

// compactTo returns the index up to which the log may go once a snapshot has the state applied so far; false where no
// part of the log may go.
func (g *growth) compactTo() (uint64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.behind) == 0 || g.last.weightSince(g.behind[0]) < g.keep {
		return 0, false
	}
	return g.behind[0].index, g.behind[0].index > 0
}

// signal wakes the reader of a channel with one place.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
