package protocol

import (
	"github.com/valyala/bytebufferpool"
	"github.com/vmihailenco/msgpack/v5"
	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// codec writes or reads the fields of one message.
//
// A message names its fields once, in the order of the wire, with one call for each (its fields method);
// the same calls write them and read them, so that the two directions cannot differ. Writing leaves
// out trailing fields that are zero. Reading gives missing trailing fields their zero value, skips
// trailing ones that it does not know, and keeps the first error: everything after it reads as zero.
//
// Of the msgpack library only the calls for single values are used. Those that read containers trust the lengths that a
// peer sends, and one frame of five bytes can make them allocate gigabytes.
type codec struct {
	writing bool

	out   bytebufferpool.ByteBuffer
	enc   *msgpack.Encoder
	array openArray

	in      view
	dec     *msgpack.Decoder
	left    int  // fields that the array being read still has
	opened  bool // the kind and the request id of the message have been read
	dataMax uint64
	now     uint64 // the time of the shard in milliseconds at which a view is seen; 0 while writing
	err     *DecodeError
}

// openArray is the array that is being written. Its length is known only when it is closed, so that a
// placeholder stands for it until then; this is why an array of fields holds at most maxFields.
type openArray struct {
	start  int // offset of the placeholder
	fields int // written so far
	kept   int // fields up to the last one that is not zero
	end    int // offset behind that one
}

// maxFields is what msgpack's shortest array form can count. It binds what this package writes, not what it reads.
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

// written returns what startWriting was given and all that was appended since. The codec does not keep it.
func (c *codec) written() []byte {
	b := c.out.B
	c.out.B = nil
	return b
}

// startReading makes the codec read b, which must not change until the message has been dealt with.
func (c *codec) startReading(b []byte) {
	c.writing = false
	c.in.reset(b)
	c.left = 0
	c.opened = false
	c.now = 0
	c.err = nil
}

// openArray begins an array of fields and returns what closeArray needs to go back to the one around it.
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

// closeArray ends the array, cuts its trailing zero fields, and says whether anything was left.
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

// wrote counts a field that has just been written.
func (c *codec) wrote(nonzero bool) {
	c.array.fields++
	if nonzero {
		c.keepAll()
	}
}

// next says whether the array being read has another field, and counts it. After an error it has none.
func (c *codec) next() bool {
	if c.left == 0 {
		return false
	}
	c.left--
	return true
}

// openRead reads the head of an array and makes its fields the ones that are read next. The field that holds the array
// has already been counted. It returns what closeRead needs to go back to the array around it.
func (c *codec) openRead() (outer int) {
	outer = c.left
	c.left = c.arrayLen("")
	return outer
}

// closeRead skips the fields of the array that are not known here, and goes back to the array around it. An error
// inside gets the name of the field that holds the array in front.
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

// fail keeps the first error and makes everything that follows read as missing.
func (c *codec) fail(field, problem string) {
	c.left = 0
	if c.err == nil {
		c.err = &DecodeError{Field: field, Problem: problem}
	}
}
