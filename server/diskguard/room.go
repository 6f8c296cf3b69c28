package diskguard

import (
	"errors"
	"fmt"
	"time"
)

const (
	// shrinkRest is the least time between two attempts to free room. shrinkShare bounds the share of the time spent
	// on the attempts: one part in shrinkShare.
	shrinkRest  = 5 * time.Second
	shrinkShare = 10
	// mostFloor bounds the floor.
	mostFloor = 64 << 20
	// reserveShare is the share of a file system the reserve may hold: one part in reserveShare.
	reserveShare = 8
)

// ErrNoRoom is the error wrapped by Room.
var ErrNoRoom = errors.New("the disk has no room for a snapshot")

// Log is the log of a host. The guard has the log shrunk to free room.
type Log interface {
	// Shrink saves the needed part of the log in a shorter form, and drops the rest.
	Shrink() error
	// ShrinkBytes is about how much room Shrink takes.
	ShrinkBytes() uint64
}

// Watch has a log shrunk in the background, again and again, while changes are refused. While changes are taken, the
// guard holds room in reserve for shrinking.
func (g *Guard) Watch(log Log) { g.log.Store(&log) }

// Room returns why the given bytes of a dispensable file must not be written: an ErrNoRoom, or nil. The room left
// then is for the log. Room measures the volume.
func (g *Guard) Room(bytes uint64) error {
	space, err := g.config.Volume.Space()
	if err != nil {
		return nil
	}
	if floor := g.floor(space.Total); space.Free < floor || space.Free-floor < bytes {
		return fmt.Errorf("%w: %s are free, %s are for the log, and %s were to be added", ErrNoRoom, size(space.Free),
			size(floor), size(bytes))
	}
	return nil
}

// floor is the room left for the log while a snapshot is saved.
func (g *Guard) floor(total uint64) uint64 { return min(g.mark(total)/4, mostFloor) }

// low is how much must be free for changes: the mark, and enough for the snapshot that will free some room. A
// snapshot of more than half of the disk does not count in full: the state has outgrown the disk.
func (g *Guard) low(total uint64) uint64 {
	need := uint64(0)
	if log := g.log.Load(); log != nil {
		need = (*log).ShrinkBytes() + g.floor(total)
	}
	return max(g.mark(total), min(need, total/2))
}

// makeRoom has room freed, and gives the reserve back if freeing needs the reserve.
func (g *Guard) makeRoom(space Space) {
	if held := g.reserve.held(); held > 0 && space.Free < held {
		g.config.Log.Warn("the room that was held in reserve is free now, for what frees more of it",
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
			g.config.Log.Error("no room could be freed on the disk; it is tried again", "error", err)
		}
		g.rest.Store(int64(shrinkShare * time.Since(began)))
	})
}

// Relieve gives the reserve back at once, for a write that must succeed and found no room. The reserve is held again
// by and by.
func (g *Guard) Relieve() {
	if held := g.reserve.held(); held > 0 {
		g.config.Log.Warn("the room that was held in reserve is free now: the disk is full", "bytes", held,
			"error", g.reserve.release())
	}
}

// wanted is the wanted size of the reserve: the present size while the need is unknown.
func (g *Guard) wanted(space Space) uint64 {
	log := g.log.Load()
	if log == nil || g.config.Reserve == "" {
		return g.reserve.held()
	}
	return min((*log).ShrinkBytes(), space.Total/reserveShare)
}

// missing is how much the reserve lacks.
func (g *Guard) missing(space Space) uint64 {
	want := g.wanted(space)
	return want - min(want, g.reserve.held())
}

// hold fills the reserve, and reports whether the reserve is held.
func (g *Guard) hold(space Space) bool {
	want := g.wanted(space)
	if want == 0 {
		return true
	}
	err := g.reserve.take(want)
	if err != nil && !g.unheld {
		g.config.Log.Error("room on the disk cannot be held in reserve", "error", err)
	}
	g.unheld = err != nil
	return err == nil
}
