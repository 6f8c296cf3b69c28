package logdb

import (
	"math"
	"slices"
	"sort"

	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// run is a sequence of contiguous entries in one record.
type run struct {
	first, last uint64
	place       wal.Place
	recent      kept // the record in memory
}

// runs are the places of a replica's entries, in the order of the indices. Runs do not overlap. A gap between entries
// of the engine is a gap between runs.
type runs []run

// from returns the position, in the slice, of the first run that does not end before an index.
func (r runs) from(index uint64) int {
	return sort.Search(len(r), func(i int) bool { return r[i].last >= index })
}

// at returns the run with an index.
func (r runs) at(index uint64) (run, bool) {
	i := r.from(index)
	if i == len(r) || r[i].first > index {
		return run{}, false
	}
	return r[i], true
}

// extent returns the first entry at or after an index, and the number of contiguous entries from there on.
func (r runs) extent(index uint64) (first, count uint64) {
	i := r.from(index)
	if i == len(r) {
		return index, 0
	}
	first = max(index, r[i].first)
	end := r[i].last
	for _, next := range r[i+1:] {
		if next.first != end+1 {
			break
		}
		end = next.last
	}
	return first, end - first + 1
}

// cut removes the entries from first to last. For each place cut calls use, with the change in the number of runs at
// the place.
func (r *runs) cut(first, last uint64, use func(gone run, runs int)) {
	i := r.from(first)
	end := i
	var left []run
	for ; end < len(*r) && (*r)[end].first <= last; end++ {
		old := (*r)[end]
		parts := len(left)
		if old.first < first {
			left = append(left, run{old.first, first - 1, old.place, old.recent})
		}
		if old.last > last {
			left = append(left, run{last + 1, old.last, old.place, old.recent})
		}
		if more := len(left) - parts - 1; more != 0 {
			use(old, more)
		}
	}
	if end > i {
		*r = slices.Replace(*r, i, end, left...)
	}
}

// cutFrom removes the entries from an index on.
func (r *runs) cutFrom(index uint64, use func(run, int)) { r.cut(index, math.MaxUint64, use) }

// put adds a run where no run has its indices.
func (r *runs) put(added run) { *r = slices.Insert(*r, r.from(added.first), added) }

// oldest returns the first run, from an entry on, in a segment or in an earlier segment.
func (r runs) oldest(from, segment uint64) (int, bool) {
	for i := r.from(from); i < len(r); i++ {
		if r[i].place.Segment <= segment {
			return i, true
		}
	}
	return 0, false
}
