package logdb

import (
	"bytes"
	"sync"
)

// recent keeps the records with entries in memory that were saved last, of all replicas of a host: the engine reads
// their entries again when it sends them to replicas that lag a little. The records stand one behind the other in a
// ring of bytes, which the collector of garbage need not look into.
type recent struct {
	limit int64 // how long the ring is; no record of more than a quarter is kept

	mu   sync.Mutex
	ring []byte
	next uint64 // how many bytes the ring has taken, where the next record begins
}

// kept is a record in the ring. The zero value is of a record that was not kept.
type kept struct {
	at    uint64 // what next was
	bytes uint32
}

// add keeps a record in place of the oldest ones.
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

// record returns a copy of a record, nil if the ring does not have it any more.
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
