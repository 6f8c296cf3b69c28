package shard

// history remembers who joined, changed or left the owners of an object: one ring for all objects of
// the shard, in which the entries of an object are chained. It is not part of the replicated state;
// after a restart it starts anew, and readers that ask for what was before take a snapshot.
type history struct {
	limit   int
	entries []ownerChange
	last    uint64 // place of the newest entry, counted from 1 through all time
}

// ownerChange says that the owner of that order id joined, changed or left at the revision.
type ownerChange struct {
	revision Revision
	order    OrderID
	before   uint64 // place of the object's entry before this one, 0 for none
	// beforeAt is the revision of that entry: whether a reader needs it is known though it may have
	// been overwritten.
	beforeAt Revision
}

const historyMin = 64

// at returns the entry at a place, nil where it was overwritten.
func (hi *history) at(place uint64) *ownerChange {
	if place == 0 || place > hi.last || hi.last-place >= uint64(len(hi.entries)) {
		return nil
	}
	return &hi.entries[place&uint64(len(hi.entries)-1)]
}

// add writes an entry and returns its place.
func (hi *history) add(c ownerChange) uint64 {
	if hi.last+1 >= uint64(len(hi.entries)) && len(hi.entries) < hi.limit {
		hi.grow()
	}
	hi.last++
	hi.entries[hi.last&uint64(len(hi.entries)-1)] = c
	return hi.last
}

func (hi *history) grow() {
	grown := make([]ownerChange, max(historyMin, 2*len(hi.entries)))
	for place := uint64(1); place <= hi.last; place++ {
		if e := hi.at(place); e != nil {
			grown[place&uint64(len(grown)-1)] = *e
		}
	}
	hi.entries = grown
}

// recordOwnerChange notes a change of an owner that the next changed of the object will report.
func (m *Machine) recordOwnerChange(object handle, order OrderID) {
	o := m.objects.at(object)
	at := m.lastRevision + 1
	o.newest = m.history.add(ownerChange{revision: at, order: order, before: o.newest, beforeAt: o.newestAt})
	o.newestAt = at
}
