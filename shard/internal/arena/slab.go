package arena

import "github.com/signalbox/signalbox/shard/internal/assert"

// Handle identifies an entry in a slab. A handle is small and stays valid while the entry is in use; zero means no
// entry. Handles are reused after their entries are freed, so a handle never leaves the machine.
type Handle = uint32

// spareChunks is how many empty chunks a slab keeps, besides as many as are in use. Further empty chunks are freed. So
// a burst's memory does not stay, and a slab that changes in size allocates nothing.
const spareChunks = 16

// Slab holds values of one type. A pointer to a value is valid until the value is freed; a free entry is zero. A slab
// allocates only when it grows by a chunk.
type Slab[T any] struct {
	memory[T]
	used Handle // entries handed out so far, including entry 0, which is never used
	free []Handle

	live   []uint16 // used entries per chunk
	inUse  int      // chunks with used entries
	spare  int      // chunks with memory and without used entries
	empty  []uint32 // the spare chunks, and some chunks that are in use again
	listed []bool   // per chunk: whether it is in empty
	Trees  []Beside // trees and columns over the slab's handles; they free their chunks with the slab's chunks
}

// Beside is a Forest or a Column over a slab's handles.
type Beside interface {
	has(chunk uint32) bool
	give(chunk uint32)
}

// Alloc returns an unused entry with the zero value.
func (s *Slab[T]) Alloc() Handle {
	var h Handle
	if n := len(s.free); n > 0 {
		h = s.free[n-1]
		s.free = s.free[:n-1]
	} else {
		s.used = max(s.used, 1)
		h = s.used
		s.used++
	}
	c := h >> chunkBits
	if int(c) == len(s.live) {
		s.live, s.listed = append(s.live, 0), append(s.listed, false)
	}
	if s.live[c] == 0 {
		if !s.has(c) {
			s.take(c)
			s.spare++
		}
		s.spare--
		s.inUse++
	}
	s.live[c]++
	return h
}

// Release frees an entry.
func (s *Slab[T]) Release(h Handle) {
	var zero T
	*s.At(h) = zero
	s.free = append(s.free, h)
	c := h >> chunkBits
	assert.That(s.live[c] > 0, "a place is freed once")
	s.live[c]--
	if s.live[c] > 0 {
		return
	}
	s.inUse--
	s.spare++
	if !s.listed[c] {
		s.listed[c] = true
		s.empty = append(s.empty, c)
	}
	s.shrink()
}

// shrink frees the empty chunks beyond those the slab keeps.
func (s *Slab[T]) shrink() {
	for s.spare > s.inUse+spareChunks {
		n := len(s.empty) - 1
		c := s.empty[n]
		s.empty = s.empty[:n]
		s.listed[c] = false
		if s.live[c] > 0 {
			continue // in use again
		}
		s.give(c)
		s.spare--
		for _, f := range s.Trees {
			if f.has(c) {
				f.give(c)
			}
		}
	}
}

// End is the handle after the last handle ever handed out.
func (s *Slab[T]) End() Handle { return s.used }

// Size returns how many entries are in use.
func (s *Slab[T]) Size() int { return max(int(s.used)-1, 0) - len(s.free) }

// Places maps handles in a snapshot to present handles. Snapshot handles are usually close together; a file with
// distant handles makes one chunk for each, and no more.
type Places struct {
	chunks map[Handle]*[chunkSize]Handle
	last   *[chunkSize]Handle // chunk used by the last call
	number Handle             // its number plus one
}

func (p *Places) chunk(number Handle) *[chunkSize]Handle {
	if p.number != number+1 {
		p.last, p.number = p.chunks[number], number+1
	}
	return p.last
}

// Of returns the present handle for a snapshot handle, or zero if there is none.
func (p *Places) Of(place Handle) Handle {
	if c := p.chunk(place >> chunkBits); c != nil {
		return c[place&(chunkSize-1)]
	}
	return 0
}

// Put stores the present handle for a snapshot handle.
func (p *Places) Put(place, now Handle) {
	c := p.chunk(place >> chunkBits)
	if c == nil {
		if p.chunks == nil {
			p.chunks = make(map[Handle]*[chunkSize]Handle)
		}
		c = new([chunkSize]Handle)
		p.chunks[place>>chunkBits], p.last = c, c
	}
	c[place&(chunkSize-1)] = now
}

// Column has one value per entry of a slab, in memory apart from the entries, so that a scan over the values reads
// nothing else. The values of unused entries must be zero.
type Column[T any] struct {
	memory[T]
}

// Cover makes memory for an entry's value, before the first use of the entry.
func (c *Column[T]) Cover(h Handle) {
	if chunk := h >> chunkBits; !c.has(chunk) {
		c.take(chunk)
	}
}

// Chunks returns how many chunks Chunk may be called for.
func (c *Column[T]) Chunks() uint32 { return uint32(len(c.taken)) }

// Chunk returns a chunk's values and the handle of the first entry; nil without memory.
func (c *Column[T]) Chunk(chunk uint32) (first Handle, values []T) {
	if !c.has(chunk) {
		return 0, nil
	}
	return chunk << chunkBits, c.chunk(chunk)[:]
}
