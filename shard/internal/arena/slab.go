package arena

import "github.com/signalbox/signalbox/shard/internal/assert"

// Handle names a place in a slab. A handle is small, stays valid for the life of the thing, and zero means no thing.
// A place is used again after its thing is gone, so a handle never gets out of the machine.
type Handle = uint32

// spareChunks is how many empty chunks a slab keeps, besides as many as are in use. Further empty chunks are given
// back. So memory of a burst does not stay, and a slab of changing size allocates nothing.
const spareChunks = 16

// Slab holds things of one type. A pointer to a thing is good until the place is freed, and the place of no thing is
// zero. A slab allocates only when it grows by a chunk.
type Slab[T any] struct {
	memory[T]
	used Handle // places handed out so far, with place 0, which is no thing's
	free []Handle

	live   []uint16  // the number of used places in each chunk
	inUse  int       // how many chunks have places in use
	spare  int       // the number of chunks in memory without used places
	empty  []uint32  // the spare chunks, and some chunks that are in use again
	listed []bool    // for each chunk, whether it is in empty
	Trees  []*Forest // of the slab's handles; the trees give back their chunks with the chunks of the slab
}

// Alloc hands out a place with the zero value.
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

// Release frees a place.
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

// shrink gives back the empty chunks beyond the chunks that the slab keeps.
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

// End is the place behind the last place that was ever handed out.
func (s *Slab[T]) End() Handle { return s.used }

// Size returns how many places are in use.
func (s *Slab[T]) Size() int { return max(int(s.used)-1, 0) - len(s.free) }

// Places maps the places of things in a snapshot to their places now. Places are near each other as a rule; a file
// with places far apart makes one chunk for each, and no more.
type Places struct {
	chunks map[Handle]*[chunkSize]Handle
	last   *[chunkSize]Handle // the chunk of the last question
	number Handle             // its number plus one
}

func (p *Places) chunk(number Handle) *[chunkSize]Handle {
	if p.number != number+1 {
		p.last, p.number = p.chunks[number], number+1
	}
	return p.last
}

// Of returns the present place of a thing, or zero for a place without a thing.
func (p *Places) Of(place Handle) Handle {
	if c := p.chunk(place >> chunkBits); c != nil {
		return c[place&(chunkSize-1)]
	}
	return 0
}

// Put notes the present place of a thing.
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
