package protocol

import (
	"github.com/valyala/bytebufferpool"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// codec writes or reads the fields of one message.
//
// A message names its fields once, in a struct, in the order of the wire. fields_gen.go follows from the struct, with
// one call for each field. The calls both write and read the fields, so the two directions cannot differ. A tag of a
// field says what the type does not: whether bytes are text, bytes or data, and the largest length or number.
//
// Writing leaves out trailing fields that are zero. Reading sets missing trailing fields to zero, skips unknown
// trailing fields, and keeps the first error: everything behind an error reads as zero.
//
// Of the msgpack library only the calls for single values are used. The library's readers of containers trust the
// lengths in a frame, so that a frame of five bytes could make a reader allocate gigabytes.
type codec struct {
	writing bool

	out   bytebufferpool.ByteBuffer
	enc   *msgpack.Encoder
	array openArray

	in      view
	dec     *msgpack.Decoder
	left    int  // fields left in the array being read
	opened  bool // the kind and the request id of the message have been read
	dataMax uint64
	now     uint64 // the time of the shard in milliseconds at which a view is seen; 0 while writing
	err     *DecodeError
}

// openArray is the array that is being written. The length is known only when the array is closed. Until then a
// placeholder of one byte stands for the length, and so an array of fields holds at most maxFields.
type openArray struct {
	start  int // offset of the placeholder
	fields int // written so far
	kept   int // fields up to the last nonzero field
	end    int // offset behind the last nonzero field
}

// maxFields is the most fields that msgpack's shortest array form can count. The limit binds what this package writes,
// not what the package reads.
const maxFields = 15

func newCodec() *codec {
	c := &codec{dataMax: MaxDataBytes}
	c.enc = msgpack.NewEncoder(&c.out)
	c.dec = msgpack.NewDecoder(&c.in)
	return c
}

// startWriting makes the codec append to b.
func (c *codec) startWriting(b []byte) {
	c.writing = true
	c.out.B = b
	c.array = openArray{}
}

// written returns the buffer of startWriting with everything appended since. The codec does not keep the buffer.
func (c *codec) written() []byte {
	b := c.out.B
	c.out.B = nil
	return b
}

// startReading makes the codec read b, which must not change until the message has been dealt with.
func (c *codec) startReading(b []byte) {
	c.writing = false
	c.in = view{bytes: b}
	c.left = 0
	c.opened = false
	c.now = 0
	c.err = nil
}

// openArray begins an array of fields and returns the outer array, for closeArray.
func (c *codec) openArray() (outer openArray) {
	outer = c.array
	c.array.start = len(c.out.B)
	c.array.fields = 0
	c.out.B = append(c.out.B, msgpcode.FixedArrayLow)
	c.keepAll()
	return outer
}

// keepAll makes the fields written so far stay, zero or not.
func (c *codec) keepAll() {
	c.array.kept = c.array.fields
	c.array.end = len(c.out.B)
}

// closeArray ends the array, cuts its trailing zero fields, and says whether any field remains.
func (c *codec) closeArray(outer openArray) (nonzero bool) {
	if c.array.fields > maxFields {
		panic("protocol: a message or record has more fields than its array can count")
	}
	kept := c.array.kept
	c.out.B = c.out.B[:c.array.end]
	c.out.B[c.array.start] = msgpcode.FixedArrayLow | byte(kept)
	c.array = outer
	return kept > 0
}

// wrote counts a field just written.
func (c *codec) wrote(nonzero bool) {
	c.array.fields++
	if nonzero {
		c.keepAll()
	}
}

// next says whether the array being read has another field, and counts the field. After an error no array has a field.
func (c *codec) next() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	return true
}

// openRead reads the head of an array and makes its fields the next to be read. The field that holds the array has
// already been counted. The result is the number of fields left in the outer array, for closeRead.
func (c *codec) openRead() (outer int) {
	outer = c.left
	c.left = c.arrayLen("")
	return outer
}

// closeRead skips the unknown fields of the array, and goes back to the outer array. An error inside gets the name of
// the holding field in front.
func (c *codec) closeRead(field string, outer int) {
	if c.err == nil && c.left > 0 {
		c.skip(c.left)
	}
	c.left = outer
	if c.err != nil {
		c.left = 0
		c.err.within(field)
	}
}

// fail keeps the first error and makes all further fields read as missing.
func (c *codec) fail(field, problem string) {
	c.left = 0
	if c.err == nil {
		c.err = &DecodeError{Field: field, Problem: problem}
	}
}
