package shard

// Handles name places in a slab. They are small, stay valid while the thing lives, and zero is none.
// A place is used again after its thing is gone, so a handle never leaves the machine.
type handle = uint32

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
)

// slab holds things of one type in chunks that never move, so that a pointer into it is good until
// its place is freed, and growing by a chunk is the only time that it allocates.
type slab[T any] struct {
	chunks []*[chunkSize]T
	used   handle // places handed out so far, with place 0, which is never handed out
	free   []handle
}

// at returns the place of a handle that is not zero.
func (s *slab[T]) at(h handle) *T {
	return &s.chunks[h>>chunkBits][h&(chunkSize-1)]
}

// take hands out a place; its content is the zero value.
func (s *slab[T]) take() handle {
	if n := len(s.free); n > 0 {
		h := s.free[n-1]
		s.free = s.free[:n-1]
		return h
	}
	if s.used == 0 {
		s.used = 1
	}
	h := s.used
	if int(h>>chunkBits) == len(s.chunks) {
		s.chunks = append(s.chunks, new([chunkSize]T))
	}
	s.used++
	return h
}

// put takes a place back.
func (s *slab[T]) put(h handle) {
	var zero T
	*s.at(h) = zero
	s.free = append(s.free, h)
}

// live returns how many places are in use.
func (s *slab[T]) live() int { return max(int(s.used)-1, 0) - len(s.free) }
