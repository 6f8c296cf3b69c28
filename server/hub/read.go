package hub

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// reading puts a semaphore together with all its owners at one moment, out of pages that are read one
// after the other while the semaphore changes.
//
// An owner that has not changed since the first page is on the page that covers its order id, as it is. All
// others are in the changes since the first page, as they are now: changed holds them. So the pages,
// overlaid with the changes, are the state at the revision that the latest changes lead to. The changes are
// asked for after each page on which the revision has moved, so that the machine's history need reach
// back no further than that.
type reading struct {
	revision  shard.Revision // what was read so far, with changed over it, is of this revision
	data      string
	limit     uint64
	ephemeral bool
	owners    []shard.LinkView
	pages     int
	changed   map[shard.OrderID]shard.LinkView // those that are gone have the order id 0

	page  shard.Description
	delta shard.Delta
}

// read reads the semaphore. It returns false where it could not: the semaphore is gone, or it changed so
// much that its history does not reach back.
func (r *reading) read(m machine, t *topic) bool {
	*r = reading{owners: r.owners[:0], changed: r.changed, page: r.page, delta: r.delta}
	clear(r.changed)
	options := shard.DescribeOptions{Owners: true}
	for first := true; first || r.page.More; first = false {
		if !m.Describe(t.node, t.nameBytes(), options, &r.page) {
			return false
		}
		r.pages++
		if first {
			r.revision, r.data = r.page.Revision, r.page.Data
			r.limit, r.ephemeral = r.page.Limit, r.page.Ephemeral
			r.owners = slices.Grow(r.owners, r.page.Owners)
		}
		r.owners = append(r.owners, r.page.Links...)
		if r.page.Revision != r.revision && !r.overlay(m, t) {
			return false
		}
		if n := len(r.page.Links); n > 0 {
			options.After = r.page.Links[n-1].Order
		}
	}
	r.merge()
	return true
}

// overlay takes in what has changed since.
func (r *reading) overlay(m machine, t *topic) bool {
	switch m.Changes(t.node, t.nameBytes(), r.revision, &r.delta) {
	case shard.DeltaNone:
		return true
	case shard.DeltaChanges:
	default:
		return false
	}
	if r.changed == nil {
		r.changed = make(map[shard.OrderID]shard.LinkView)
	}
	for _, order := range r.delta.Gone {
		r.changed[order] = shard.LinkView{}
	}
	for _, v := range r.delta.Joined {
		r.changed[v.Order] = v
	}
	if r.delta.DataChanged {
		r.data = r.delta.Data
	}
	if r.delta.Limit != 0 {
		r.limit = r.delta.Limit
	}
	r.revision = r.delta.To
	return true
}

// merge brings the owners to the present.
func (r *reading) merge() {
	if len(r.changed) == 0 {
		return
	}
	r.owners = slices.DeleteFunc(r.owners, func(v shard.LinkView) bool {
		_, changed := r.changed[v.Order]
		return changed
	})
	for _, v := range r.changed {
		if v.Order != 0 {
			r.owners = append(r.owners, v)
		}
	}
	slices.SortFunc(r.owners, func(a, b shard.LinkView) int { return cmp.Compare(a.Order, b.Order) })
}

// keptOwners is for how many owners the memory of a reading is kept.
const keptOwners = 4096

// forget lets go of the names and data that were read, and of the memory if it is much.
func (r *reading) forget() {
	if cap(r.owners) > keptOwners || len(r.changed) > keptOwners {
		*r = reading{}
		return
	}
	clear(r.owners)
	clear(r.changed)
	clear(r.page.Links)
	clear(r.delta.Joined)
}

// readSnapshot reads and encodes a snapshot of a topic's semaphore, nil where that cannot be done now.
func (wo *worker) readSnapshot(t *topic) *snapshot {
	r := &wo.reading
	defer r.forget()
	for range readTries {
		ok := r.read(wo.hub.machine, t)
		wo.spent += readCost * r.pages
		if ok {
			return wo.encode(r)
		}
	}
	return nil
}

// encode cuts what was read into pages.
func (wo *worker) encode(r *reading) *snapshot {
	s := &snapshot{revision: r.revision}
	m := &wo.whole
	*m = protocol.WatchSnapshot{
		Revision: uint64(r.revision), First: true, Exists: true, Ephemeral: r.ephemeral, Limit: r.limit,
		Owners: m.Owners,
	}
	m.Owners.Reset()
	for i := range r.owners {
		if m.Owners.Size() >= wo.hub.options.PageBytes {
			wo.encodePage(s, r)
		}
		m.Owners.Append(ownerOf(&r.owners[i]))
	}
	m.Last = true
	wo.encodePage(s, r)
	s.brief = r.pages == 1 && len(s.rest) == 0
	return s
}

// encodePage adds the page that k.whole holds, and begins the next.
func (wo *worker) encodePage(s *snapshot, r *reading) {
	m := &wo.whole
	if m.First {
		bare := wo.encoder.SharedPush(m)
		s.bare, s.full = &bare, &bare
		if len(r.data) > 0 {
			m.Data = protocol.View(r.data)
			full := wo.encoder.SharedPush(m)
			s.full = &full
		}
		wo.spent += s.full.Size()
	} else {
		push := wo.encoder.SharedPush(m)
		s.rest = append(s.rest, push)
		wo.spent += push.Size()
	}
	*m = protocol.WatchSnapshot{Revision: m.Revision, Owners: m.Owners}
	m.Owners.Reset()
}
