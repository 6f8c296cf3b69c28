package diskguard

import (
	"errors"
	"fmt"
	"time"
)

const (
	// shrinkRest is the minimum time between two log compactions. shrinkShare limits the time spent on compactions to
	// one part in shrinkShare.
	shrinkRest  = 5 * time.Second
	shrinkShare = 10
	// mostFloor is the maximum floor.
	mostFloor = 64 << 20
	// reserveShare limits the reserve to one part in reserveShare of the file system.
	reserveShare = 8
)

// ErrNoRoom is the error wrapped by Room.
var ErrNoRoom = errors.New("not enough disk space for a snapshot")

// Log is a host's log, which the guard compacts to free space.
type Log interface {
	// Shrink saves the required part of the log in a shorter form, and drops the rest.
	Shrink() error
	// ShrinkBytes returns the approximate disk space that Shrink needs.
	ShrinkBytes() uint64
}

// Watch compacts a log repeatedly in the background while changes are rejected. While changes are accepted, the guard
// reserves disk space for compaction.
func (g *Guard) Watch(log Log) { g.log.Store(&log) }

// Room measures the volume, and returns an ErrNoRoom if an optional file with the given size must not be written. The
// remaining space is then for the log.
func (g *Guard) Room(bytes uint64) error {
	space, err := g.config.Volume.Space()
	if err != nil {
		return nil
	}
	if floor := g.floor(space.Total); space.Free < floor || space.Free-floor < bytes {
		return fmt.Errorf("%w: %s are free, %s of them for the log, but the snapshot needs "+
			"%s", ErrNoRoom, size(space.Free),
			size(floor), size(bytes))
	}
	return nil
}

// floor returns the space that stays free for the log while a snapshot is saved.
func (g *Guard) floor(total uint64) uint64 { return min(g.mark(total)/4, mostFloor) }

// low returns the free space required for changes: the mark, and enough for the next snapshot. A snapshot larger than
// half the disk does not count in full: the state has outgrown the disk.
func (g *Guard) low(total uint64) uint64 {
	need := uint64(0)
	if log := g.log.Load(); log != nil {
		need = (*log).ShrinkBytes() + g.floor(total)
	}
	return max(g.mark(total), min(need, total/2))
}

// makeRoom starts log compaction. If the disk is too full for compaction, makeRoom releases the reserve first.
func (g *Guard) makeRoom(space Space) {
	if held := g.reserve.held(); held > 0 && space.Free < held {
		g.config.Log.Warn("released the disk reserve for work that frees more space",
			"bytes", held, "error", g.reserve.release())
	}
	log := g.log.Load()
	if log == nil || time.Now().Before(g.rested) || !g.shrinking.CompareAndSwap(false, true) {
		return
	}
	g.rested = time.Now().Add(max(shrinkRest, time.Duration(g.rest.Load())))
	g.watching.Go(func() {
		defer g.shrinking.Store(false)
		began := time.Now()
		if err := (*log).Shrink(); err != nil {
			g.config.Log.Error("could not free disk space; trying again", "error", err)
		}
		g.rest.Store(int64(shrinkShare * time.Since(began)))
	})
}

// Relieve releases the reserve immediately, for a write that must succeed but found no space. The reserve is refilled
// gradually.
func (g *Guard) Relieve() {
	if held := g.reserve.held(); held > 0 {
		g.config.Log.Warn("released the disk reserve: the disk is full", "bytes", held,
			"error", g.reserve.release())
	}
}

// wanted returns the wanted reserve size: the current size while the need is unknown.
func (g *Guard) wanted(space Space) uint64 {
	log := g.log.Load()
	if log == nil || g.config.Reserve == "" {
		return g.reserve.held()
	}
	return min((*log).ShrinkBytes(), space.Total/reserveShare)
}

// missing returns the number of bytes the reserve lacks.
func (g *Guard) missing(space Space) uint64 {
	want := g.wanted(space)
	return want - min(want, g.reserve.held())
}

// hold fills the reserve, and reports whether the reserve is full.
func (g *Guard) hold(space Space) bool {
	want := g.wanted(space)
	if want == 0 {
		return true
	}
	err := g.reserve.take(want)
	if err != nil && !g.unheld {
		g.config.Log.Error("cannot reserve disk space", "error", err)
	}
	g.unheld = err != nil
	return err == nil
}
