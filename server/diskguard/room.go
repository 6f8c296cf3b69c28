package diskguard

import (
	"errors"
	"fmt"
	"time"
)

const (
	// shrinkRest is at least between two attempts to free room, shrinkShare how much of the time they may take at most:
	// one part of so many.
	shrinkRest  = 5 * time.Second
	shrinkShare = 10
	// mostFloor bounds the floor.
	mostFloor = 64 << 20
	// reserveShare is how much of a file system the reserve may hold: one part of so many.
	reserveShare = 8
)

// ErrNoRoom is what Room returns wrapped.
var ErrNoRoom = errors.New("the disk has no room for a snapshot")

// Log is what has room freed: the log of a host.
type Log interface {
	// Shrink saves what is needed of the log in a shorter form, and drops the rest.
	Shrink() error
	// ShrinkBytes is how much room that takes, about.
	ShrinkBytes() uint64
}

// Watch has a log shrunk in the background while changes are refused, again and again, and room for that held in
// reserve while they are taken.
func (g *Guard) Watch(log Log) { g.log.Store(&log) }

// Room returns why no more of what can be done without may be written, not even so many bytes: an ErrNoRoom, or nil.
// What is left then is for the log. It measures.
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

// floor is what is left for the log while a snapshot is saved.
func (g *Guard) floor(total uint64) uint64 { return min(g.mark(total)/4, mostFloor) }

// low is how much must be free for changes: the mark, and enough for the snapshot that will free some of it. Where that
// is more than half of the disk the state has outgrown it.
func (g *Guard) low(total uint64) uint64 {
	need := uint64(0)
	if log := g.log.Load(); log != nil {
		need = (*log).ShrinkBytes() + g.floor(total)
	}
	return max(g.mark(total), min(need, total/2))
}

// makeRoom has room freed, for which it gives the reserve back where that is needed.
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

// Relieve gives the reserve back at once, for what must be written and found no room. It is taken again by and by.
func (g *Guard) Relieve() {
	if held := g.reserve.held(); held > 0 {
		g.config.Log.Warn("the room that was held in reserve is free now: the disk is full", "bytes", held,
			"error", g.reserve.release())
	}
}

// wanted is how large the reserve is to be: as it is while that is not known.
func (g *Guard) wanted(space Space) uint64 {
	log := g.log.Load()
	if log == nil || g.config.Reserve == "" {
		return g.reserve.held()
	}
	return min((*log).ShrinkBytes(), space.Total/reserveShare)
}

// missing is what the reserve has not.
func (g *Guard) missing(space Space) uint64 {
	want := g.wanted(space)
	return want - min(want, g.reserve.held())
}

// hold takes the reserve, and reports whether it is held.
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
