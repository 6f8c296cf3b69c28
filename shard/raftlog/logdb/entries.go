package logdb

import (
	"bytes"
	"iter"
	"slices"
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

// runs locate a replica's entries, in index order. Runs do not overlap. A gap between engine entries is a gap between
// runs. The runs are stored in pieces, none empty. Adding a run moves at most one piece; a single slice would be copied
// as a whole when it grows, and delay the replica.
type runs [][]run

// pieceRuns is the length of a full piece: 24 KiB, which Go allocates as a small object.
const pieceRuns = 512

// find returns the position, in a piece, of the first run that does not end before an index.
func find(piece []run, index uint64) int {
	return sort.Search(len(piece), func(i int) bool { return piece[i].last >= index })
}

// piece returns the position of the first piece that does not end before an index.
func (r runs) piece(index uint64) int {
	return sort.Search(len(r), func(i int) bool { return ending(r[i]) >= index })
}

// ending returns the last entry in a piece.
func ending(piece []run) uint64 { return piece[len(piece)-1].last }

// since returns the runs that do not end before an index.
func (r runs) since(index uint64) iter.Seq[run] {
	return func(yield func(run) bool) {
		for _, piece := range r[r.piece(index):] {
			for _, found := range piece[find(piece, index):] {
				if !yield(found) {
					return
				}
			}
		}
	}
}

// at returns the run with an index.
func (r runs) at(index uint64) (run, bool) {
	for found := range r.since(index) {
		return found, found.first <= index
	}
	return run{}, false
}

// extent returns the first entry at or after an index, and the number of contiguous entries from there on.
func (r runs) extent(index uint64) (first, count uint64) {
	first = index
	for next := range r.since(index) {
		if count == 0 {
			first = max(index, next.first)
		} else if next.first != first+count {
			break
		}
		count = next.last - first + 1
	}
	return first, count
}

// replace returns the runs with new runs instead of all runs that have an entry from first to last.
func (r runs) replace(first, last uint64, with ...run) runs {
	begin := r.piece(first)
	end := begin
	for end < len(r) && r[end][0].first <= last {
		end++
	}
	if begin == end && begin > 0 && len(r[begin-1]) < pieceRuns {
		r[begin-1] = append(r[begin-1], with...)
		return r
	}
	var before, after []run
	if begin < end {
		before = r[begin][:find(r[begin], first)]
		after = r[end-1]
		after = after[sort.Search(len(after), func(i int) bool { return after[i].first > last }):]
	}
	joined := slices.Concat(before, with, after)
	return slices.Replace(r, begin, end, slices.Collect(slices.Chunk(joined, pieceRuns))...)
}

// recent keeps the latest records with entries in memory, for all replicas on a host, because the engine reads the
// entries again for slightly lagging replicas. The records are stored contiguously in a byte ring, so the garbage
// collector need not scan them.
type recent struct {
	limit int64 // ring length; a record above a quarter of it is not kept

	mu   sync.Mutex
	ring []byte
	next uint64 // how many bytes were added to the ring; the next record begins there
}

// kept is a record in the ring. The zero value is a record outside the ring.
type kept struct {
	at    uint64 // value of next before the record was added
	bytes uint32
}

// add stores a record, overwriting the oldest records.
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
		r.next += rest // no record wraps around the end
	}
	k := kept{r.next, uint32(n)}
	copy(r.ring[r.next%size:], record)
	r.next += uint64(n)
	return k
}

// record returns a copy of a record, nil if the ring has overwritten it.
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
