package raftlog

import "sync"

// entryBytes is about what an entry takes in the log beside its data.
const entryBytes = 32

// extent is a part of the log, counted in entries and in bytes. It is reached when either of the two is.
type extent struct {
	entries uint64
	bytes   uint64
}

// point is a place in the log: how many bytes the replica has applied up to it is counted since its start.
type point struct {
	index uint64
	bytes uint64
}

// isBehind reports whether the extent lies between a point and a later one.
func (e extent) isBehind(from, to point) bool {
	return to.index-from.index >= e.entries || to.bytes-from.bytes >= e.bytes
}

// growth counts by how much a replica's log has grown since its last snapshot, and says when the next one is due: after
// the extent that the config gives, but not before the log is as large as the last snapshot, so that writing snapshots
// never costs more than writing the log.
type growth struct {
	every extent // between two snapshots
	keep  extent // stays in the log behind a snapshot
	due   chan struct{}

	mu       sync.Mutex
	started  bool // an entry was applied since the start, or since the last restored snapshot
	last     point
	saved    point   // of the last snapshot
	prepared point   // of the one that is being saved
	written  point   // of the one that was written last: the engine may give it up after that
	wrote    uint64  // how large that one is
	behind   []point // past points, the oldest first, a few for each extent that is kept
	size     uint64  // of the last snapshot
}

// pointsKept is how many points there are for an extent that is kept: what is kept is longer by one part of so many.
const pointsKept = 8

func newGrowth(every, keep extent) *growth {
	return &growth{every: every, keep: keep, due: make(chan struct{}, 1)}
}

// add counts entries that were applied: the first and the last one's index, and their bytes.
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
	if g.isDue() {
		signal(g.due)
	}
}

func (g *growth) isDue() bool { return g.interval().isBehind(g.saved, g.last) }

// interval is what lies between two snapshots.
func (g *growth) interval() extent {
	return extent{g.every.entries, max(g.every.bytes, g.size)}
}

// outruns reports whether the log grows faster than the snapshot that is being saved, of which so many bytes are
// written. That is to be whole when the log has grown by half of the entries or an eighth of the bytes that lie between
// two snapshots since it was prepared: the log must not be much longer because snapshots are saved slowly, and the next
// one not be due before this one is there. The size is taken to be that of the last one, and a quarter more.
func (g *growth) outruns(written uint64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	size := g.size + g.size/4
	if g.size == 0 {
		size = g.prepared.bytes - g.saved.bytes
	}
	if written >= size {
		return true // nothing is known of what is left
	}
	most := g.interval()
	grown := max(float64(g.last.index-g.prepared.index)*2/float64(most.entries),
		float64(g.last.bytes-g.prepared.bytes)*8/float64(most.bytes))
	return grown > float64(written)/float64(size)
}

// check reports whether a snapshot is due: who was woken may find that one has been saved meanwhile.
func (g *growth) check() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.isDue()
}

// sinceSnapshot is how many bytes the log has behind the last snapshot.
func (g *growth) sinceSnapshot() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.last.bytes - g.saved.bytes
}

// snapshotBytes is how large the last snapshot was.
func (g *growth) snapshotBytes() uint64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.size
}

// prepare notes that a snapshot is made of what is applied now.
func (g *growth) prepare() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.prepared = g.last
}

// write notes that the snapshot that was prepared is written, and how large it is.
func (g *growth) write(size uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.written, g.wrote = g.prepared, size
}

// save notes that the snapshot that was written is saved: the log before it may go.
func (g *growth) save() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.saved, g.size = g.written, g.wrote
}

// givenUp reports whether the snapshot that was written last was not saved.
func (g *growth) givenUp() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.written.index > g.saved.index
}

// restore notes that the state is that of a snapshot now. The next entry says of which place.
func (g *growth) restore(size uint64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.started, g.saved, g.written, g.size = false, g.last, g.last, size
}

// compactTo returns the index up to which the log may go once there is a snapshot of what is applied; false where
// nothing is to go.
func (g *growth) compactTo() (uint64, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.behind) == 0 || !g.keep.isBehind(g.behind[0], g.last) {
		return 0, false
	}
	return g.behind[0].index, g.behind[0].index > 0
}

// signal wakes who waits on a channel with one place.
func signal(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}
