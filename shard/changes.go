package shard

import "slices"

// DeltaKind says how the changes of a semaphore since a revision can be reported.
type DeltaKind uint8

const (
	// DeltaNone: nothing changed.
	DeltaNone DeltaKind = 0
	// DeltaChanges: the Delta holds the changes.
	DeltaChanges DeltaKind = 1
	// DeltaSnapshot: the history does not reach back so far, or too much changed: describe it anew.
	DeltaSnapshot DeltaKind = 2
	// DeltaAbsent: there is no semaphore of that name now.
	DeltaAbsent DeltaKind = 3
	// DeltaBehind: this replica has not seen the revision yet.
	DeltaBehind DeltaKind = 4
)

// Delta is what changed of a semaphore between two revisions, all changes merged into one.
type Delta struct {
	To          Revision // the revision that it leads to; for DeltaAbsent that of the shard
	DataChanged bool
	Data        string
	Limit       uint64     // where it changed, else zero
	Joined      []LinkView // owners that are new or changed, as they are now, by order id
	Gone        []OrderID  // owners that are no more; some may have come and gone in between
}

// Changes fills d, whose memory is used again, with what happened to a semaphore after a revision that
// was read before.
func (m *Machine) Changes(n NodeID, name []byte, since Revision, d *Delta) DeltaKind {
	*d = Delta{Joined: d.Joined[:0], Gone: d.Gone[:0]}
	m.mu.RLock()
	defer m.mu.RUnlock()
	if since > m.lastRevision {
		return DeltaBehind
	}
	h := m.objects.find(ObjectHash(n, name), n, name)
	if h == 0 || !m.isSemaphore(h) || m.objects.at(h).deleting {
		d.To = m.lastRevision
		return DeltaAbsent
	}
	o := m.objects.at(h)
	d.To = o.revision
	switch {
	case since >= o.revision:
		return DeltaNone
	case since < o.base:
		return DeltaSnapshot
	}
	// Gone holds all that changed at first.
	for place, at := o.newest, o.newestAt; at > since; {
		e := m.history.at(place)
		if e == nil || len(d.Gone) == MaxPage {
			d.Gone = d.Gone[:0]
			return DeltaSnapshot
		}
		d.Gone = append(d.Gone, e.order)
		place, at = e.before, e.beforeAt
	}
	slices.Sort(d.Gone)
	gone := d.Gone[:0]
	for _, order := range slices.Compact(d.Gone) {
		if l := m.linkAfter(o.links, order-1); l != 0 && m.links.at(l).order == order {
			d.Joined = append(d.Joined, m.viewLink(m.links.at(l)))
		} else {
			gone = append(gone, order)
		}
	}
	d.Gone = gone
	s := m.semaphore(o)
	if s.dataRevision > since {
		d.DataChanged, d.Data = true, s.data
	}
	if s.limitRevision > since {
		d.Limit = s.limit
	}
	return DeltaChanges
}
