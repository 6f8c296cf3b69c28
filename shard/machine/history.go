package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// History remembers the changed rows of watched objects: for a semaphore the owners that joined, changed or left; for
// all other views the rows. All objects in the shard share a ring buffer, with the entries for a track chained. The
// history is not replicated: after a restart the history is empty, and readers asking for earlier changes read a
// snapshot instead.
type History struct {
	core    *Core
	limit   int
	entries []rowChange
	last    uint64 // position of the newest entry, counted from 1 since the start
}

// rowChange records the revision at which a row (for semaphores: the owner with the order id) appeared, changed or
// went.
type rowChange struct {
	revision shard.Revision
	row      shard.OrderID
	before   uint64 // position of the track's previous entry, 0 for none
	// beforeAt is the previous entry's revision. A reader can decide from beforeAt whether the previous entry matters,
	// even if the entry was overwritten.
	beforeAt shard.Revision
}

// track locates the history for an object or a view: changes are known from revision base on; the latest row change is
// at position newest, with revision newestAt. revision is the last change's revision, including head changes.
type track struct {
	Revision shard.Revision
	base     shard.Revision
	newest   uint64
	newestAt shard.Revision
}

const historyMin = 64

// at returns the entry at a position, or nil if the entry was overwritten.
func (hi *History) at(place uint64) *rowChange {
	if place == 0 || place > hi.last || hi.last-place >= uint64(len(hi.entries)) {
		return nil
	}
	return &hi.entries[place&uint64(len(hi.entries)-1)]
}

// record notes a changed row; for a semaphore, a changed owner. The next changed call for the object reports the
// change.
func (hi *History) record(t *track, row shard.OrderID) {
	at := hi.core.lastRevision + 1
	if hi.last+1 >= uint64(len(hi.entries)) && len(hi.entries) < hi.limit {
		grown := make([]rowChange, max(historyMin, 2*len(hi.entries)))
		copy(grown, hi.entries) // each entry stays at its position: the ring grows before it wraps around
		hi.entries = grown
	}
	hi.last++
	hi.entries[hi.last&uint64(len(hi.entries)-1)] = rowChange{
		revision: at, row: row, before: t.newest, beforeAt: t.newestAt,
	}
	t.newest, t.newestAt = hi.last, at
}

// OwnerChanged notes that an owner joined, changed or left. The next Changed call for the object reports the change.
func (hi *History) OwnerChanged(object arena.Handle, order shard.OrderID) {
	hi.record(&hi.core.Objects.At(object).track, order)
}

// rowsSince appends the ids of a track's rows changed after a revision, sorted and without duplicates. It returns false
// if the history does not reach back far enough, or if the rows exceed a page.
func (hi *History) rowsSince(t *track, since shard.Revision, dst []shard.OrderID) ([]shard.OrderID, bool) {
	if since < t.base {
		return dst, false
	}
	from := len(dst)
	for place, at := t.newest, t.newestAt; at > since; {
		e := hi.at(place)
		if e == nil || len(dst)-from == shard.MaxPage {
			return dst[:from], false
		}
		dst = append(dst, e.row)
		place, at = e.before, e.beforeAt
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))], true
}
