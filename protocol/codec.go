package protocol

import (
	"github.com/valyala/bytebufferpool"
	"github.com/vmihailenco/msgpack/v5"
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

	source
	dec     *msgpack.Decoder
	dataMax uint64
}

// source is what a codec reads, and how far. The msgpack library reads the rare forms of values from the source, and
// because the library never reads ahead, the codec can take byte strings out of the source without a copy.
type source struct {
	in     []byte // the payload of one frame, a record, or the items of a list
	off    int
	left   int    // fields left in the array being read; none after an error
	opened bool   // the kind and the request id of the message have been read
	now    uint64 // the time of the shard in milliseconds at which a view is seen; 0 while writing
	err    *DecodeError
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
	c.dec = msgpack.NewDecoder(&c.source)
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
	c.writing, c.source = false, source{in: b}
}

// wrote counts a field just written.
func (c *codec) wrote(nonzero bool) {
	c.array.fields++
	if nonzero {
		c.array.kept, c.array.end = c.array.fields, len(c.out.B)
	}
}

// fail keeps the first error and makes all further fields read as missing.
func (c *codec) fail(field, problem string) {
	c.left = 0
	if c.err == nil {
		c.err = &DecodeError{Field: field, Problem: problem}
	}
}
