package arena

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
//
// A collection of garbage sees the pieces, and not each chunk: of chunks there are the addresses, which stay because
// nothing in the heap is ever moved.
type memory[T any] struct {
	chunks []uintptr
	taken  []bool
	pieces [][][chunkSize]T
	zeros  *[chunkSize]T
}

// At returns the place of a handle other than zero.
func (me *memory[T]) At(h Handle) *T { return &me.chunk(h >> chunkBits)[h&(chunkSize-1)] }

func (me *memory[T]) chunk(chunk uint32) *[chunkSize]T {
	return (*[chunkSize]T)(chunkAt(&me.chunks[chunk]))
}

// chunkAt returns the memory of a chunk by its address.
func chunkAt(address *uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(address)) }

// has reports whether a chunk is taken.
func (me *memory[T]) has(chunk uint32) bool { return int(chunk) < len(me.taken) && me.taken[chunk] }

// pieceOf returns the number of the piece that a chunk stands in, and the chunks that stand in it.
func pieceOf(chunk uint32) (piece int, first, end uint32) {
	if chunk < pieceChunks {
		return int(chunk), chunk, chunk + 1
	}
	first = chunk &^ (pieceChunks - 1)
	return pieceChunks + int(first/pieceChunks) - 1, first, first + pieceChunks
}

// take gets the memory of a chunk: places of zeros. It is no part of its callers, so that the memory is always the
// heap's, whose addresses stay.
//
//go:noinline
func (me *memory[T]) take(chunk uint32) {
	if me.zeros == nil {
		me.zeros = new([chunkSize]T)
	}
	piece, first, end := pieceOf(chunk)
	for uint32(len(me.chunks)) < end {
		me.chunks, me.taken = append(me.chunks, address(me.zeros)), append(me.taken, false)
	}
	for len(me.pieces) <= piece {
		me.pieces = append(me.pieces, nil)
	}
	me.taken[chunk] = true
	if me.pieces[piece] != nil {
		return
	}
	me.pieces[piece] = make([][chunkSize]T, end-first)
	for c := first; c < end; c++ {
		me.chunks[c] = address(&me.pieces[piece][c-first])
	}
}

func address[T any](chunk *[chunkSize]T) uintptr { return uintptr(unsafe.Pointer(chunk)) }

// give gives the memory of a chunk back, whose places are all zero: to the system, and to the process with the last
// chunk of the piece.
func (me *memory[T]) give(chunk uint32) {
	me.taken[chunk] = false
	piece, first, end := pieceOf(chunk)
	for c := first; c < end; c++ {
		if me.taken[c] {
			discard(unsafe.Pointer(me.chunk(chunk)), unsafe.Sizeof(*me.zeros))
			return
		}
	}
	for c := first; c < end; c++ {
		me.chunks[c] = address(me.zeros)
	}
	me.pieces[piece] = nil
}
