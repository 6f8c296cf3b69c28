package logdb

import (
	"bytes"
	"sort"
	"sync"

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

// oldest returns the first run, from an entry on, in a segment or in an earlier segment.
func (r runs) oldest(from, segment uint64) (int, bool) {
	for i := r.from(from); i < len(r); i++ {
		if r[i].place.Segment <= segment {
			return i, true
		}
	}
	return 0, false
}

// recent keeps the latest records with entries in memory, of all replicas of a host, because the engine reads the
// entries again for replicas that lag a little. The records stand one behind the other in a ring of bytes, so that the
// garbage collector need not look into the records.
type recent struct {
	limit int64 // length of the ring; a record of more than a quarter is not kept

	mu   sync.Mutex
	ring []byte
	next uint64 // how many bytes the ring has taken; the next record begins there
}

// kept is a record in the ring. The zero value is a record outside of the ring.
type kept struct {
	at    uint64 // value of next before the record
	bytes uint32
}

// add keeps a record in the place of the oldest records.
func (r *recent) add(record []byte) kept {
	n := len(record)
	if int64(n) > r.limit/4 {
		return kept{}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ring == nil {
		r.ring = make([]byte, r.limit)
	}
	size := uint64(len(r.ring))
	if rest := size - r.next%size; rest < uint64(n) {
		r.next += rest // no record goes over the end
	}
	k := kept{r.next, uint32(n)}
	copy(r.ring[r.next%size:], record)
	r.next += uint64(n)
	return k
}

// record returns a copy of a record, nil for a record that the ring has overwritten.
func (r *recent) record(k kept) []byte {
	if k.bytes == 0 {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	size := uint64(len(r.ring))
	if r.next > k.at+size {
		return nil
	}
	from := k.at % size
	return bytes.Clone(r.ring[from : from+uint64(k.bytes)])
}
