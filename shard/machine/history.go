package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// History remembers the changed rows of watched objects: for a semaphore the owners that joined, changed or left, for
// a view of any other kind its rows. One ring serves all objects of the shard, and the entries of a track are chained
// in the ring. The history is not part of the replicated state: it starts anew after a restart, and readers that ask
// for earlier changes take a snapshot.
type History struct {
	core    *Core
	limit   int
	entries []rowChange
	last    uint64 // place of the newest entry, counted from 1 through all time
}

// rowChange says that the row with an id (of owners: the order id) came, changed or went at the revision.
type rowChange struct {
	revision shard.Revision
	row      shard.OrderID
	before   uint64 // place of the track's previous entry, 0 for none
	// beforeAt is the revision of the previous entry. So a reader knows whether it needs the previous entry, even if
	// the entry was overwritten.
	beforeAt shard.Revision
}

// track is where the history of an object, or of a view of it, begins and ends: changes are known from revision base
// on, the latest row is at place newest of the history, and of revision newestAt. revision is that of the last change
// of all.
type track struct {
	Revision shard.Revision
	base     shard.Revision
	newest   uint64
	newestAt shard.Revision
}

const historyMin = 64

// at returns the entry at a place, or nil if the entry was overwritten.
func (hi *History) at(place uint64) *rowChange {
	if place == 0 || place > hi.last || hi.last-place >= uint64(len(hi.entries)) {
		return nil
	}
	return &hi.entries[place&uint64(len(hi.entries)-1)]
}

// record notes a change of a row; of a semaphore, a change of an owner. The next call of changed for the
// object will report the change.
func (hi *History) record(t *track, row shard.OrderID) {
	at := hi.core.lastRevision + 1
	if hi.last+1 >= uint64(len(hi.entries)) && len(hi.entries) < hi.limit {
		grown := make([]rowChange, max(historyMin, 2*len(hi.entries)))
		copy(grown, hi.entries) // each entry stays at its place: the ring grows before it begins anew
		hi.entries = grown
	}
	hi.last++
	hi.entries[hi.last&uint64(len(hi.entries)-1)] = rowChange{
		revision: at, row: row, before: t.newest, beforeAt: t.newestAt,
	}
	t.newest, t.newestAt = hi.last, at
}

// OwnerChanged notes that an owner joined, changed or left. The next call of Changed for the object will report the
// change.
func (hi *History) OwnerChanged(object arena.Handle, order shard.OrderID) {
	hi.record(&hi.core.Objects.At(object).track, order)
}

// rowsSince appends the ids of the rows of a track that changed after a revision, without repetitions, in order. It
// returns false if the history does not reach back so far, or if the rows are more than a page.
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
