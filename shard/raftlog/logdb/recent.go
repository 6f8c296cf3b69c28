package logdb

import (
	"bytes"
	"sync"
)

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
