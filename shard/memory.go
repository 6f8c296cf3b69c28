package shard

import "unsafe"

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
	// pieceChunks is how many chunks stand in one piece of memory, from the second piece on: a collection of garbage
	// takes time for each piece, and a machine with few things has memory for few.
	pieceChunks = 16
)

// memory is memory for places of one type, in chunks that never move, so that a pointer to a place is good until the
// place's chunk is given back. Where the memory of a chunk is not there, the chunk is one of zeros, which all of these
// share, and only reads may reach it.
type memory[T any] struct {
	chunks []*[chunkSize]T
	taken  []bool
	zeros  *[chunkSize]T
}

// at returns the place of a handle other than zero.
func (me *memory[T]) at(h handle) *T {
	return &me.chunks[h>>chunkBits][h&(chunkSize-1)]
}

// has reports whether a chunk is taken.
func (me *memory[T]) has(chunk uint32) bool { return int(chunk) < len(me.taken) && me.taken[chunk] }

// piece returns the chunks that have one piece of memory with a chunk.
func (me *memory[T]) piece(chunk uint32) (first, end uint32) {
	if chunk < pieceChunks {
		return chunk, chunk + 1
	}
	first = chunk &^ (pieceChunks - 1)
	return first, first + pieceChunks
}

// take gets the memory of a chunk, whose places hold what they held when they were given back.
func (me *memory[T]) take(chunk uint32) {
	if me.zeros == nil {
		me.zeros = new([chunkSize]T)
	}
	first, end := me.piece(chunk)
	for uint32(len(me.chunks)) < end {
		me.chunks, me.taken = append(me.chunks, me.zeros), append(me.taken, false)
	}
	me.taken[chunk] = true
	if me.chunks[chunk] != me.zeros {
		return
	}
	piece := make([][chunkSize]T, end-first)
	for i := range piece {
		me.chunks[first+uint32(i)] = &piece[i]
	}
}

// give gives the memory of a chunk back, whose places are all zero: to the system, and to the process with the last
// chunk of the piece.
func (me *memory[T]) give(chunk uint32) {
	me.taken[chunk] = false
	first, end := me.piece(chunk)
	for c := first; c < end; c++ {
		if me.taken[c] {
			discard(unsafe.Pointer(me.chunks[chunk]), unsafe.Sizeof(*me.zeros))
			return
		}
	}
	for c := first; c < end; c++ {
		me.chunks[c] = me.zeros
	}
}
