package shard

import "slices"

// history remembers which rows of the watched objects changed: who joined, changed or left the owners of a semaphore,
// which rows of a view of another kind. It is one ring for all objects of the shard, in which the entries of a track
// are chained. It is not part of the replicated state; after a restart it starts anew, and readers that ask for what
// was before take a snapshot.
type history struct {
	limit   int
	entries []rowChange
	last    uint64 // place of the newest entry, counted from 1 through all time
}

// rowChange says that the row of that id (of owners: the order id) came, changed or went at the revision.
type rowChange struct {
	revision Revision
	row      OrderID
	before   uint64 // place of the track's entry before this one, 0 for none
	// beforeAt is the revision of that entry: whether a reader needs it is known though it may have
	// been overwritten.
	beforeAt Revision
}

// track is where the history of an object, or of a view of it, begins and ends: changes are known from revision base
// on, the latest row is at place newest of the history, and of revision newestAt. revision is that of the last change
// of all.
type track struct {
	revision Revision
	base     Revision
	newest   uint64
	newestAt Revision
}

const historyMin = 64

// at returns the entry at a place, nil where it was overwritten.
func (hi *history) at(place uint64) *rowChange {
	if place == 0 || place > hi.last || hi.last-place >= uint64(len(hi.entries)) {
		return nil
	}
	return &hi.entries[place&uint64(len(hi.entries)-1)]
}

// add writes an entry and returns its place.
func (hi *history) add(c rowChange) uint64 {
	if hi.last+1 >= uint64(len(hi.entries)) && len(hi.entries) < hi.limit {
		hi.grow()
	}
	hi.last++
	hi.entries[hi.last&uint64(len(hi.entries)-1)] = c
	return hi.last
}

func (hi *history) grow() {
	grown := make([]rowChange, max(historyMin, 2*len(hi.entries)))
	for place := uint64(1); place <= hi.last; place++ {
		if e := hi.at(place); e != nil {
			grown[place&uint64(len(grown)-1)] = *e
		}
	}
	hi.entries = grown
}

// recordRowChange notes a change of a row that the next changed of its object will report.
func (m *Machine) recordRowChange(t *track, row OrderID) {
	at := m.lastRevision + 1
	t.newest = m.history.add(rowChange{revision: at, row: row, before: t.newest, beforeAt: t.newestAt})
	t.newestAt = at
}

// recordOwnerChange notes a change of an owner that the next changed of the object will report.
func (m *Machine) recordOwnerChange(object handle, order OrderID) {
	m.recordRowChange(&m.objects.at(object).track, order)
}

// rowsSince appends the ids of the rows of a track that changed after a revision, each once, in order. It returns false
// where the history does not reach back so far, or where they are more than a page.
func (hi *history) rowsSince(t *track, since Revision, dst []OrderID) ([]OrderID, bool) {
	if since < t.base {
		return dst, false
	}
	from := len(dst)
	for place, at := t.newest, t.newestAt; at > since; {
		e := hi.at(place)
		if e == nil || len(dst)-from == MaxPage {
			return dst[:from], false
		}
		dst = append(dst, e.row)
		place, at = e.before, e.beforeAt
	}
	slices.Sort(dst[from:])
	return dst[:from+len(slices.Compact(dst[from:]))], true
}
