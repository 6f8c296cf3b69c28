package arena

import (
	"bytes"
	"unsafe"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// Text is a string in the machine without a pointer, so garbage collection need not scan memory with texts. The lower
// bits are the entry's size class, the bits above them the entry. Zero is the empty Text. Like a handle, a Text is
// valid until it is freed, and never leaves the machine: readers get a copy.
type Text uint32

const (
	classBits = 4
	classMask = 1<<classBits - 1
	// longText is the class for texts that are separate strings. Long texts are few, because each takes much memory,
	// and readers share them.
	longText = Text(len(roomSizes))
)

// roomSizes are the entry sizes per class, in bytes. An entry's first byte is the text length.
var roomSizes = [...]int{16, 24, 32, 48, 64, 96, 128, 192, 256}

// room is a slab with entries of one size, which are byte arrays.
type room interface {
	Alloc() Handle
	Release(h Handle)
	addresses() []uintptr
	Size() int
}

// addresses returns the chunk addresses, for any entry size.
func (me *memory[T]) addresses() []uintptr { return me.chunks }

// Texts are the Texts in one store.
type Texts struct {
	rooms  [longText]room
	chunks [longText][]uintptr // the rooms' chunks: texts are read without a call
	long   Slab[string]
}

// NewTexts returns an empty store.
func NewTexts() Texts {
	return Texts{rooms: [...]room{
		&Slab[[16]byte]{}, &Slab[[24]byte]{}, &Slab[[32]byte]{}, &Slab[[48]byte]{}, &Slab[[64]byte]{},
		&Slab[[96]byte]{}, &Slab[[128]byte]{}, &Slab[[192]byte]{}, &Slab[[256]byte]{},
	}}
}

// place returns the memory for a text that is neither empty nor long.
func (te *Texts) place(t Text) []byte {
	class, h := t&classMask, Handle(t>>classBits)
	size := roomSizes[class]
	chunk := chunkAt(&te.chunks[class][h>>chunkBits])
	return unsafe.Slice((*byte)(unsafe.Add(chunk, int(h&(chunkSize-1))*size)), size)
}

// Keep creates a text with a copy of the bytes.
func (te *Texts) Keep(b []byte) Text {
	if len(b) == 0 {
		return 0
	}
	class, h := Text(0), Handle(0)
	for class < longText && roomSizes[class] <= len(b) {
		class++
	}
	if class == longText {
		h = te.long.Alloc()
		*te.long.At(h) = string(b)
	} else {
		h = te.rooms[class].Alloc()
		te.chunks[class] = te.rooms[class].addresses()
	}
	assert.That(h < 1<<(32-classBits), "texts of one size are at most as many as their handles have bits for")
	t := Text(h)<<classBits | class
	if class != longText {
		place := te.place(t)
		place[0] = byte(len(b))
		copy(place[1:], b)
	}
	return t
}

// Free frees a text's entry.
func (te *Texts) Free(t Text) {
	switch class := t & classMask; {
	case t == 0:
	case class == longText:
		te.long.Release(Handle(t >> classBits))
	default:
		te.rooms[class].Release(Handle(t >> classBits))
	}
}

// Replace frees a text and stores a new text in its variable.
func (te *Texts) Replace(t *Text, b []byte) {
	te.Free(*t)
	*t = te.Keep(b)
}

// Bytes returns a text's own bytes, for use while the machine's lock is held.
func (te *Texts) Bytes(t Text) []byte {
	switch class := t & classMask; {
	case t == 0:
		return nil
	case class == longText:
		return protocol.View(*te.long.At(Handle(t >> classBits)))
	default:
		place := te.place(t)
		return place[1 : 1+int(place[0])]
	}
}

// String returns a text for readers to keep.
func (te *Texts) String(t Text) string {
	if t&classMask == longText {
		return *te.long.At(Handle(t >> classBits))
	}
	return string(te.Bytes(t))
}

// Again is String for a reader that may have the text already.
func (te *Texts) Again(t Text, had string) string {
	if protocol.Text(te.Bytes(t)) == had {
		return had
	}
	return te.String(t)
}

// Is compares a text with bytes.
func (te *Texts) Is(t Text, b []byte) bool { return bytes.Equal(te.Bytes(t), b) }

// Size returns how many texts are in use.
func (te *Texts) Size() int {
	n := te.long.Size()
	for _, r := range te.rooms {
		n += r.Size()
	}
	return n
}

// Speller makes strings for the texts in effects. The strings share memory that is never written again, so one
// allocation is enough for hundreds.
type Speller struct{ memory []byte }

const spelledTogether = 4096

// Spell returns the bytes as a string.
func (sp *Speller) Spell(b []byte) string {
	from := len(sp.memory)
	if cap(sp.memory)-from < len(b) {
		sp.memory, from = make([]byte, 0, max(spelledTogether, len(b))), 0
	}
	sp.memory = append(sp.memory, b...)
	return protocol.Text(sp.memory[from:])
}
