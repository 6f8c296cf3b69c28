package cluster

import (
	"cmp"
	"context"
	"iter"
	"slices"

	"github.com/signalbox/signalbox/protocol"
)

// Part is the part of a list that one request asks for.
type Part[K cmp.Ordered] struct {
	Slots protocol.ListSlots
	After K
	Limit uint64
}

// Page is the answer to a list request: the items in key order, the Next field, which is zero on the last page, and the
// requested slots that the shard does not have.
type Page[T any, K cmp.Ordered] struct {
	Items   []T
	Next    K
	Missing protocol.SlotRanges
}

// Ask returns the request for a part of a list, and the function that reads the answer.
type Ask[T any, K cmp.Ordered] func(Part[K]) (protocol.ListMessage, func(a *protocol.Answer) Page[T, K])

// List lists the items of all slots after a key, sorted by key. An item that exists throughout is listed exactly once,
// even if slots move. near chooses the host for a request about a slot.
func List[T any, K cmp.Ordered](
	ctx context.Context, c *Cluster, near func(slot uint16) Target, after K, key func(T) K, ask Ask[T, K],
) iter.Seq2[T, error] {
	l := lister[T, K]{key: key, shardAt: c.ShardAt, stale: func() { c.refreshSoon(nil) }}
	l.read = func(p Part[K]) (page Page[T, K], missing []uint16, err error) {
		m, read := ask(p)
		var first uint16
		for r := range p.Slots.Slots.All() {
			first = uint16(r.First)
			break
		}
		err = c.Do(ctx, near(first), m, func(a *protocol.Answer) {
			page = read(a)
			for r := range page.Missing.All() {
				for slot := r.First; slot <= r.Last && slot < protocol.Slots; slot++ {
					missing = append(missing, uint16(slot))
				}
			}
		})
		return page, missing, err
	}
	return l.list(after)
}

// lister lists the items of all slots. For every slot, lister reads each range of keys once, from the shard that has
// the slot at that time.
type lister[T any, K cmp.Ordered] struct {
	key     func(T) K
	shardAt func(slot uint16) uint64 // as far as the client knows
	read    func(Part[K]) (page Page[T, K], missing []uint16, err error)
	stale   func() // called if slots were missing
}

// section has the next items of some slots, from one shard. The items are complete up to the key end, or, if end is
// zero, up to the end of the list.
type section[T any, K cmp.Ordered] struct {
	shard uint64
	slots []uint16
	items []T
	end   K
}

func (l *lister[T, K]) list(after K) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		var start K
		unread := make([]uint16, protocol.Slots)
		for slot := range unread {
			unread[slot] = uint16(slot)
		}
		// A caller that takes few items should not pay for a full page of every shard.
		limit := uint64(2 * protocol.MaxPageItems / len(l.byShard(unread)))
		for sections := []section[T, K](nil); ; limit = min(2*limit, protocol.MaxPageItems) {
			var err error
			if sections, err = l.fill(sections, unread, after, max(1, limit)); err != nil {
				var nothing T
				yield(nothing, err)
				return
			}
			after = start
			for _, s := range sections {
				if s.end != start && (after == start || s.end < after) {
					after = s.end
				}
			}
			for _, item := range l.take(sections, after) {
				if !yield(item, nil) {
					return
				}
			}
			if after == start {
				return
			}
			sections, unread = ended(sections, after)
		}
	}
}

// fill reads pages for all unread slots. If slots are missing at a shard, they have moved: fill reads the missing slots
// from their new shard.
func (l *lister[T, K]) fill(
	sections []section[T, K], unread []uint16, after K, limit uint64,
) ([]section[T, K], error) {
	for len(unread) > 0 {
		slices.Sort(unread)
		groups := l.byShard(unread)
		unread = nil
		for _, slots := range groups {
			page, missing, err := l.read(Part[K]{listSlots(slots), after, limit})
			if err != nil {
				return nil, err
			}
			unread = append(unread, missing...)
			sections = append(sections, section[T, K]{
				l.shardAt(slots[0]), slices.DeleteFunc(slots, func(slot uint16) bool {
					_, lacks := slices.BinarySearch(missing, slot)
					return lacks
				}), page.Items, page.Next,
			})
		}
		if len(unread) > 0 {
			l.stale()
		}
	}
	return sections, nil
}

// take removes the items up to a key from the sections, and returns the items in key order. A zero key takes all items.
func (l *lister[T, K]) take(sections []section[T, K], end K) (items []T) {
	var all K
	for i := range sections {
		s := &sections[i]
		n := slices.IndexFunc(s.items, func(item T) bool { return end != all && l.key(item) > end })
		if n < 0 {
			n = len(s.items)
		}
		items, s.items = append(items, s.items[:n]...), s.items[n:]
	}
	slices.SortStableFunc(items, func(a, b T) int { return cmp.Compare(l.key(a), l.key(b)) })
	return items
}

// ended removes the sections that end at a key, and all other sections of the same shards. It returns the slots of the
// removed sections. So the next page of a shard is one section again. Otherwise every move would add a section.
func ended[T any, K cmp.Ordered](sections []section[T, K], end K) (rest []section[T, K], unread []uint16) {
	due := make(map[uint64]bool)
	for _, s := range sections {
		due[s.shard] = due[s.shard] || s.end == end
	}
	rest = slices.DeleteFunc(sections, func(s section[T, K]) bool {
		if due[s.shard] {
			unread = append(unread, s.slots...)
		}
		return due[s.shard]
	})
	return rest, unread
}

// byShard groups slots by shard.
func (l *lister[T, K]) byShard(slots []uint16) (groups [][]uint16) {
	index := make(map[uint64]int)
	for _, slot := range slots {
		id := l.shardAt(slot)
		i, known := index[id]
		if !known {
			i = len(groups)
			index[id], groups = i, append(groups, nil)
		}
		groups[i] = append(groups[i], slot)
	}
	return groups
}

// listSlots encodes slots as ranges for a request.
func listSlots(slots []uint16) (l protocol.ListSlots) {
	for i, first := 0, 0; i < len(slots); i++ {
		if i+1 == len(slots) || slots[i+1] != slots[i]+1 {
			l.Slots.Append(protocol.SlotRange{First: uint64(slots[first]), Last: uint64(slots[i])})
			first = i + 1
		}
	}
	return l
}
