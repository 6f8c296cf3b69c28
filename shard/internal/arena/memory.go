package arena

import "unsafe"

const (
	chunkBits = 8
	chunkSize = 1 << chunkBits
	// pieceChunks is how many chunks share a piece of memory, because each piece costs garbage collection time. The
	// first pieceChunks chunks have a piece each, so a machine with few entries needs little memory.
	pieceChunks = 16
)

// memory is memory for entries with a common type, in chunks that never move, so a pointer to an entry stays valid
// until the chunk is freed. A chunk without memory is represented by a shared read-only chunk filled with zeros.
//
// The garbage collector sees the pieces, and not each chunk: memory stores chunk addresses, and the addresses stay
// valid because Go never moves heap memory.
type memory[T any] struct {
	chunks []uintptr
	taken  []bool
	pieces [][][chunkSize]T
	zeros  *[chunkSize]T
}

// At returns the entry for a handle other than zero.
func (me *memory[T]) At(h Handle) *T { return &me.chunk(h >> chunkBits)[h&(chunkSize-1)] }

func (me *memory[T]) chunk(chunk uint32) *[chunkSize]T {
	return (*[chunkSize]T)(chunkAt(&me.chunks[chunk]))
}

// chunkAt returns a chunk's memory by its address.
func chunkAt(address *uintptr) unsafe.Pointer { return *(*unsafe.Pointer)(unsafe.Pointer(address)) }

// has reports whether a chunk has memory.
func (me *memory[T]) has(chunk uint32) bool { return int(chunk) < len(me.taken) && me.taken[chunk] }

// pieceOf returns the number of the piece with a chunk, and the piece's first and last chunk.
func pieceOf(chunk uint32) (piece int, first, end uint32) {
	if chunk < pieceChunks {
		return int(chunk), chunk, chunk + 1
	}
	first = chunk &^ (pieceChunks - 1)
	return pieceChunks + int(first/pieceChunks) - 1, first, first + pieceChunks
}

// take allocates memory for a chunk, filled with zeros. It is not inlined, so the memory is always allocated on the
// heap and its address stays valid.
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

// give frees a chunk's memory, in which all entries must be zero: to the system, and to the process with the piece's
// last chunk.
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
