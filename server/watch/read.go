package watch

import (
	"cmp"
	"runtime"
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// item is the type of an object's repeated elements: a semaphore's owners, or rows of other objects.
type item interface{ shard.LinkView | shard.Row }

// items locates items in the machine's answers and in a snapshot.
type items[T item] interface {
	id(*T) uint64 // 0 for the zero item
	inPage(*shard.Description) []T
	inDelta(*shard.Delta) []T
	// keep makes items valid for the whole reading: keep appends their bytes to room, and returns room.
	keep(list []T, room []byte) []byte
	add(*protocol.WatchSnapshot, *T)
}

// reading assembles an object or a view with all its items at one revision, from pages that are read one after
// another while the object changes.
//
// An item without a change since the first page is correct on the page that covers its id. All other items are in the
// changes since the first page, in their current state: the map changed holds them. So the pages, overlaid with the
// changes, are the state at the revision to which the latest changes lead. After every page with another revision,
// the reading asks for changes, so the machine's history needs to cover only one page.
type reading[T item, I items[T]] struct {
	revision  shard.Revision // revision of the pages so far, overlaid with changed
	data      string
	limit     uint64
	ephemeral bool
	items     []T
	pages     int
	changed   map[uint64]T // removed items are the zero item
	joined    []T          // from the latest changes
	room      []byte       // for kept items' bytes

	page  shard.Description
	delta shard.Delta
	of    I
}

// read reads a topic's object or view. read returns false if the object is gone, or changed more than the machine's
// history holds.
func (r *reading[T, I]) read(m Machine, at shard.Ref) bool {
	r.revision, r.data, r.limit, r.ephemeral, r.pages = 0, "", 0, false, 0
	r.items, r.room = r.items[:0], r.room[:0]
	clear(r.changed)
	options := shard.DescribeOptions{Owners: true, Rows: true}
	for first := true; first || r.page.More; first = false {
		if !m.Describe(at, options, &r.page) {
			return false
		}
		r.pages++
		runtime.Gosched() // a list with many pages would occupy a processor for too long
		if first {
			r.revision, r.data = r.page.Revision, r.page.Data
			r.limit, r.ephemeral = r.page.Limit, r.page.Ephemeral
			r.items = slices.Grow(r.items, r.page.Owners)
		}
		page := r.of.inPage(&r.page)
		before := len(r.items)
		r.items = append(r.items, page...)
		r.room = r.of.keep(r.items[before:], r.room)
		if r.page.Revision != r.revision && !r.overlay(m, at) {
			return false
		}
		if n := len(page); n > 0 {
			options.After = shard.OrderID(r.of.id(&page[n-1]))
		}
	}
	r.merge()
	return true
}

// overlay adds the changes since the reading's revision.
func (r *reading[T, I]) overlay(m Machine, at shard.Ref) bool {
	switch m.Changes(at, r.revision, &r.delta) {
	case shard.DeltaNone:
		return true
	case shard.DeltaChanges:
	default:
		return false
	}
	if r.changed == nil {
		r.changed = make(map[uint64]T)
	}
	var gone T
	for _, id := range r.delta.Gone {
		r.changed[uint64(id)] = gone
	}
	r.joined = append(r.joined[:0], r.of.inDelta(&r.delta)...)
	r.room = r.of.keep(r.joined, r.room)
	for i := range r.joined {
		r.changed[r.of.id(&r.joined[i])] = r.joined[i]
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

// merge brings the items up to date.
func (r *reading[T, I]) merge() {
	if len(r.changed) == 0 {
		return
	}
	r.items = slices.DeleteFunc(r.items, func(x T) bool {
		_, changed := r.changed[r.of.id(&x)]
		return changed
	})
	for _, x := range r.changed {
		if r.of.id(&x) != 0 {
			r.items = append(r.items, x)
		}
	}
	slices.SortFunc(r.items, func(a, b T) int { return cmp.Compare(r.of.id(&a), r.of.id(&b)) })
}

// keptItemsOfReading is the number of items for which a reading keeps its memory; keptRoom is the number of bytes for
// their bodies.
const (
	keptItemsOfReading = 4096
	keptRoom           = 256 << 10
)

// forget drops the names and data that were read, and releases large memory.
func (r *reading[T, I]) forget() {
	if cap(r.items) > keptItemsOfReading || len(r.changed) > keptItemsOfReading || cap(r.room) > keptRoom {
		*r = reading[T, I]{}
		return
	}
	clear(r.items)
	clear(r.joined)
	clear(r.changed)
	clear(r.of.inPage(&r.page))
	clear(r.of.inDelta(&r.delta))
}

// snapshotOf reads and encodes a topic's snapshot. snapshotOf returns nil if a snapshot is impossible now.
func snapshotOf[T item, I items[T]](wo *worker, r *reading[T, I], t *topic) *snapshot {
	defer r.forget()
	for range readTries {
		ok := r.read(wo.hub.machine, t.ref())
		wo.spent += readCost * r.pages
		if ok {
			return r.encode(wo)
		}
	}
	return nil
}

// encode divides the read items into pages.
func (r *reading[T, I]) encode(wo *worker) *snapshot {
	s := &snapshot{revision: r.revision}
	m := &wo.whole
	wo.nextPage(protocol.WatchSnapshot{
		Revision: uint64(r.revision), First: true, Exists: true, Ephemeral: r.ephemeral, Limit: r.limit,
	})
	for i := range r.items {
		if m.Owners.Size()+m.Rows.Size() >= wo.hub.options.PageBytes {
			wo.encodePage(s, r.data)
		}
		r.of.add(m, &r.items[i])
	}
	m.Last = true
	wo.encodePage(s, r.data)
	s.brief = r.pages == 1 && len(s.rest) == 0
	return s
}

// encodePage adds the page in wo.whole to the snapshot, and begins the next page.
func (wo *worker) encodePage(s *snapshot, data string) {
	m := &wo.whole
	if m.First {
		bare := wo.encoder.SharedPush(m)
		s.bare, s.full = &bare, &bare
		if len(data) > 0 {
			m.Data = protocol.View(data)
			full := wo.encoder.SharedPush(m)
			s.full = &full
		}
		wo.spent += s.full.Size()
	} else {
		push := wo.encoder.SharedPush(m)
		s.rest = append(s.rest, push)
		wo.spent += push.Size()
	}
	wo.nextPage(protocol.WatchSnapshot{Revision: m.Revision})
	runtime.Gosched() // see read
}

// nextPage begins a page in wo.whole, in the previous page's memory.
func (wo *worker) nextPage(page protocol.WatchSnapshot) {
	m := &wo.whole
	page.Owners, page.Rows = m.Owners, m.Rows
	*m = page
	m.Owners.Reset()
	m.Rows.Reset()
}
