package protocol

import (
	"github.com/valyala/bytebufferpool"
	"github.com/vmihailenco/msgpack/v5"
)

// codec writes or reads a message's fields.
//
// A message lists its fields once, in a struct, in wire order. fields_gen.go is generated from the struct, with one
// call per field. The calls both write and read the fields, so the two directions cannot differ. Field tags add what
// the type does not show: whether bytes are text, bytes or data, and the maximum length or number.
//
// Writing omits trailing zero fields. Reading sets missing trailing fields to zero, skips unknown trailing fields, and
// keeps the first error: everything after an error reads as zero.
//
// Only the msgpack library's calls for single values are used. Its readers for containers trust the lengths in a frame,
// so a frame with five bytes could make a reader allocate gigabytes.
type codec struct {
	writing bool

	out   bytebufferpool.ByteBuffer
	enc   *msgpack.Encoder
	array openArray

	source
	dec     *msgpack.Decoder
	dataMax uint64
}

// source is a codec's input, and the read position. The msgpack library reads rare value encodings from the source; the
// library never reads ahead, so the codec can take byte strings out of the source without a copy.
type source struct {
	in     []byte // one frame's payload, a record, or list items
	off    int
	left   int    // fields left in the array being read; none after an error
	opened bool   // the message kind and the request id have been read
	now    uint64 // the shard time, in milliseconds, at which a view is seen; 0 while writing
	err    *DecodeError
}

// openArray is the array being written. Its length is known only when the array is closed. Until then a one-byte
// placeholder stands for the length, so an array has at most maxFields fields.
type openArray struct {
	start  int // placeholder offset
	fields int // written so far
	kept   int // fields up to the last nonzero field
	end    int // offset after the last nonzero field
}

// maxFields is the maximum number of fields in msgpack's shortest array encoding. The limit applies to writing, but not
// to reading.
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

// written returns startWriting's buffer with everything appended since. The codec does not keep the buffer.
func (c *codec) written() []byte {
	b := c.out.B
	c.out.B = nil
	return b
}

// startReading makes the codec read b, which must not change until the message has been processed.
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
