package shard

// handle names a place in a slab. A handle is small, stays valid for the life of the thing, and zero means no thing.
// A place is used again after its thing is gone, so a handle never gets out of the machine.
type handle = uint32

// spareChunks is how many empty chunks a slab keeps, besides as many as are in use. Further empty chunks are given
// back. So memory of a burst does not stay, and a slab of changing size allocates nothing.
const spareChunks = 16

// slab holds things of one type. A pointer to a thing is good until the place is freed, and the place of no thing is
// zero. A slab allocates only when it grows by a chunk.
type slab[T any] struct {
	memory[T]
	used handle // places handed out so far, with place 0, which is no thing's
	free []handle

	live   []uint16  // the number of used places in each chunk
	inUse  int       // how many chunks have places in use
	spare  int       // the number of chunks in memory without used places
	empty  []uint32  // the spare chunks, and some chunks that are in use again
	listed []bool    // for each chunk, whether it is in empty
	trees  []*forest // of the slab's handles; the trees give back their chunks with the chunks of the slab
}

// alloc hands out a place with the zero value.
func (s *slab[T]) alloc() handle {
	var h handle
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

// release frees a place.
func (s *slab[T]) release(h handle) {
	var zero T
	*s.at(h) = zero
	s.free = append(s.free, h)
	c := h >> chunkBits
	assert(s.live[c] > 0, "a place is freed once")
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
func (s *slab[T]) shrink() {
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
		for _, f := range s.trees {
			if f.has(c) {
				f.give(c)
			}
		}
	}
}

// size returns how many places are in use.
func (s *slab[T]) size() int { return max(int(s.used)-1, 0) - len(s.free) }
