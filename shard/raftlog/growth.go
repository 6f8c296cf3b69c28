package raftlog

import "sync"

// entryBytes is about the room of an entry in the log beside its data.
const entryBytes = 32

// extent is a length of log in entries and in bytes. An extent is over when either number is reached.
type extent struct {
	entries uint64
	bytes   uint64
}

// point is a place in the log, with the number of bytes that the replica has applied up to the place since its start.
type point struct {
	index uint64
	bytes uint64
}

// isBehind reports whether the extent fits between a point and a later point.
func (e extent) isBehind(from, to point) bool {
	return to.index-from.index >= e.entries || to.bytes-from.bytes >= e.bytes
}

// growth counts how much a replica's log has grown since its last snapshot, and says when the next snapshot is due:
// after the extent in the config, but not before the log is as large as the last snapshot, so that writing snapshots
// never costs more than writing the log.
type growth struct {
	every extent // between two snapshots at the least
	keep  extent // stays in the log behind a snapshot
	due   chan struct{}

	mu       sync.Mutex
	started  bool // an entry was applied since the start, or since the last restored snapshot
	last     point
	saved    point   // of the last snapshot
	prepared point   // of the snapshot under way
	written  point   // of the snapshot written last, which the engine may still give up
	wrote    uint64  // the size of the snapshot written last
	behind   []point // past points, the oldest first, a few for each kept extent
	size     uint64  // of the last snapshot
	interval extent  // between the last snapshot and the next
}

// pointsKept is the number of points for a kept extent: the kept log is longer than the extent by at most one part of
// so many.
const pointsKept = 8

func newGrowth(every, keep extent) *growth {
	return &growth{every: every, interval: every, keep: keep, due: make(chan struct{}, 1)}
}

// add counts applied entries: the index of the first and of the last entry, and the bytes of all.
func (g *growth) add(first, last uint64, bytes int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.started {
		g.started = true
		g.saved = point{first - 1, g.last.bytes}
		g.behind = append(g.behind[:0], g.saved)
	}
	g.last = point{last, g.last.bytes + uint64(bytes) + (last-first+1)*entryBytes}
	step := extent{max(1, g.keep.entries/pointsKept), max(1, g.keep.bytes/pointsKept)}
	if step.isBehind(g.behind[len(g.behind)-1], g.last) {
		g.behind = append(g.behind, g.last)
	}
	n := 0
	for n+1 < len(g.behind) && g.keep.isBehind(g.behind[n+1], g.last) {
		n++
	}
	g.behind = append(g.behind[:0], g.behind[n:]...)
	if g.interval.isBehind(g.saved, g.last) {
		signal(g.due)
	}
}

// outruns reports whether the log grows faster than the snapshot under way, of which so many bytes are written. The
// snapshot should be whole by the time the log has grown, since the preparation, by half of the entries or an eighth of
// the bytes between two snapshots: slow saving must not make the log much longer, and the next snapshot must not be due
// before this snapshot is whole. The estimate of the size is the size of the last snapshot and a quarter more.
func (g *growth) outruns(written uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	size := g.size + g.size/4
	if g.size == 0 {
		size = g.prepared.bytes - g.saved.bytes
	}
	if written >= size {
		return true // the length of the rest is unknown
	}
	grown := max(float64(g.last.index-g.prepared.index)*2/float64(g.interval.entries),
		float64(g.last.bytes-g.prepared.bytes)*8/float64(g.interval.bytes))
	return grown > float64(written)/float64(size)
}

// check reports whether a snapshot is due: a woken caller may find that a snapshot has been saved meanwhile.
func (g *growth) check() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.interval.isBehind(g.saved, g.last)
}

// sinceSnapshot is the length of the log behind the last snapshot in bytes.
func (g *growth) sinceSnapshot() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last.bytes - g.saved.bytes
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
	g.saved = g.written
	g.resize(g.wrote)
}

// resize notes the size of the last snapshot. The lock is held.
func (g *growth) resize(size uint64) {
	g.size = size
	g.interval.bytes = max(g.every.bytes, size)
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
	g.started, g.saved, g.written = false, g.last, g.last
	g.resize(size)
}

// compactTo returns the index up to which the log may go once a snapshot has the state applied so far; false where no
// part of the log may go.
func (g *growth) compactTo() (uint64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.behind) == 0 || !g.keep.isBehind(g.behind[0], g.last) {
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
