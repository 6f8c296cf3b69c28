package shard

import (
	"bytes"
	"unsafe"

	"github.com/signalbox/signalbox/protocol"
)

// text is a string of the machine without a pointer, so that a collection of garbage passes over memory with texts.
// The lower bits are the size class of the place, the bits above them the place. Zero is the empty text. As a handle,
// a text is good until it is freed, and never gets out of the machine: readers get a copy.
type text uint32

const (
	classBits = 4
	classMask = 1<<classBits - 1
	// longText is the class of texts that are strings of their own. Long texts are few, because each takes much
	// memory, and readers share them.
	longText = text(len(roomSizes))
)

// roomSizes are the bytes of a place in each class. The first byte is the length of the text.
var roomSizes = [...]int{16, 24, 32, 48, 64, 96, 128, 192, 256}

// room is a slab of places of one size, which are arrays of bytes.
type room interface {
	alloc() handle
	release(h handle)
	addresses() []uintptr
}

// addresses returns the addresses of the chunks, for any size of places.
func (me *memory[T]) addresses() []uintptr { return me.chunks }

// texts are the texts of one store.
type texts struct {
	rooms  [longText]room
	chunks [longText][]uintptr // of the rooms: texts are read without a call
	long   slab[string]
}

func newTexts() texts {
	return texts{rooms: [...]room{
		&slab[[16]byte]{}, &slab[[24]byte]{}, &slab[[32]byte]{}, &slab[[48]byte]{}, &slab[[64]byte]{},
		&slab[[96]byte]{}, &slab[[128]byte]{}, &slab[[192]byte]{}, &slab[[256]byte]{},
	}}
}

// place returns the memory of a text that is neither empty nor long.
func (te *texts) place(t text) []byte {
	class, h := t&classMask, handle(t>>classBits)
	size := roomSizes[class]
	chunk := chunkAt(&te.chunks[class][h>>chunkBits])
	return unsafe.Slice((*byte)(unsafe.Add(chunk, int(h&(chunkSize-1))*size)), size)
}

// keep makes a text of a copy of the bytes.
func (te *texts) keep(b []byte) text {
	if len(b) == 0 {
		return 0
	}
	class, h := text(0), handle(0)
	for class < longText && roomSizes[class] <= len(b) {
		class++
	}
	if class == longText {
		h = te.long.alloc()
		*te.long.at(h) = string(b)
	} else {
		h = te.rooms[class].alloc()
		te.chunks[class] = te.rooms[class].addresses()
	}
	assert(h < 1<<(32-classBits), "texts of one size are at most as many as their handles have bits for")
	t := text(h)<<classBits | class
	if class != longText {
		place := te.place(t)
		place[0] = byte(len(b))
		copy(place[1:], b)
	}
	return t
}

// free gives a text's place back.
func (te *texts) free(t text) {
	switch class := t & classMask; {
	case t == 0:
	case class == longText:
		te.long.release(handle(t >> classBits))
	default:
		te.rooms[class].release(handle(t >> classBits))
	}
}

// replace frees a text and puts a new text into its variable.
func (te *texts) replace(t *text, b []byte) {
	te.free(*t)
	*t = te.keep(b)
}

// bytes returns a text's own bytes, for use while the machine's lock is held.
func (te *texts) bytes(t text) []byte {
	switch class := t & classMask; {
	case t == 0:
		return nil
	case class == longText:
		return protocol.View(*te.long.at(handle(t >> classBits)))
	default:
		place := te.place(t)
		return place[1 : 1+int(place[0])]
	}
}

// string returns a text for readers to keep.
func (te *texts) string(t text) string {
	if t&classMask == longText {
		return *te.long.at(handle(t >> classBits))
	}
	return string(te.bytes(t))
}

// again is string for a reader that may have the text already.
func (te *texts) again(t text, had string) string {
	if protocol.Text(te.bytes(t)) == had {
		return had
	}
	return te.string(t)
}

// is compares a text with bytes.
func (te *texts) is(t text, b []byte) bool { return bytes.Equal(te.bytes(t), b) }

// speller makes strings for the texts in effects. The strings stand together in memory that is never written again,
// so that one allocation is enough for hundreds.
type speller struct{ memory []byte }

const spelledTogether = 4096

func (sp *speller) spell(b []byte) string {
	from := len(sp.memory)
	if cap(sp.memory)-from < len(b) {
		sp.memory, from = make([]byte, 0, max(spelledTogether, len(b))), 0
	}
	sp.memory = append(sp.memory, b...)
	return protocol.Text(sp.memory[from:])
}
