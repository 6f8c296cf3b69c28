package protocol

import (
	"io"
	"strconv"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The calls below read one value each. A call checks the code of the value first, so that the library reads only values
// of the expected type, and checks every length before use.

func (c *codec) readUint(field string) uint64 {
	code, ok := c.in.peek()
	if !ok {
		c.fail(field, truncated)
		return 0
	}
	if code <= maxOneByte {
		c.in.off++
		return uint64(code)
	}
	var n uint64
	var err error
	switch {
	case code >= msgpcode.Uint8 && code <= msgpcode.Uint64, code == msgpcode.Nil:
		n, err = c.dec.DecodeUint64()
	case code >= msgpcode.Int8 && code <= msgpcode.Int64, code >= msgpcode.NegFixedNumLow:
		// Encoders of languages without unsigned numbers write positive numbers in these forms too.
		var signed int64
		signed, err = c.dec.DecodeInt64()
		if signed < 0 {
			c.fail(field, strconv.FormatInt(signed, 10)+" is not a uint")
			return 0
		}
		n = uint64(signed)
	default:
		c.failType(field, "uint", code)
		return 0
	}
	if err != nil {
		c.fail(field, truncated)
		return 0
	}
	return n
}

func (c *codec) readBool(field string) bool {
	code, ok := c.in.peek()
	if !ok {
		c.fail(field, truncated)
		return false
	}
	switch code {
	case msgpcode.True, msgpcode.False, msgpcode.Nil:
		c.in.off++
		return code == msgpcode.True
	}
	c.failType(field, "bool", code)
	return false
}

func (c *codec) readText(field string, most uint64) []byte {
	b := c.readString(field, "text", most)
	if !utf8.Valid(b) {
		c.fail(field, "is not UTF-8")
		return nil
	}
	return b
}

// readString reads a byte string of either msgpack family, str or bin: not every language distinguishes the two.
func (c *codec) readString(field, want string, most uint64) []byte {
	code, ok := c.in.peek()
	if !ok {
		c.fail(field, truncated)
		return nil
	}
	if !msgpcode.IsString(code) && !msgpcode.IsBin(code) && code != msgpcode.Nil {
		c.failType(field, want, code)
		return nil
	}
	n, err := c.dec.DecodeBytesLen()
	switch {
	case err != nil:
		c.fail(field, truncated)
		return nil
	case n <= 0:
		return nil
	case uint64(n) > most:
		c.fail(field, strconv.Itoa(n)+" bytes, at most "+strconv.FormatUint(most, 10))
		return nil
	case n > c.in.rest():
		c.fail(field, truncated)
		return nil
	}
	return c.in.take(n)
}

// arrayLen reads the head of an array. Every item takes a byte at least, so that a count above the number of unread
// bytes is wrong, and is refused before use.
func (c *codec) arrayLen(field string) int {
	code, ok := c.in.peek()
	if !ok {
		c.fail(field, truncated)
		return 0
	}
	var n int
	switch {
	case msgpcode.IsFixedArray(code):
		c.in.off++
		n = int(code & msgpcode.FixedArrayMask)
	case code == msgpcode.Nil:
		c.in.off++
	case code == msgpcode.Array16, code == msgpcode.Array32:
		var err error
		if n, err = c.dec.DecodeArrayLen(); err != nil {
			c.fail(field, truncated)
			return 0
		}
	default:
		c.failType(field, "array", code)
		return 0
	}
	if n > c.in.rest() {
		c.fail(field, "an array of "+strconv.Itoa(n)+" items in "+strconv.Itoa(c.in.rest())+" bytes")
		return 0
	}
	return n
}

// failType reports a value of another type than its field has.
func (c *codec) failType(field, want string, code byte) {
	c.fail(field, codeName(code)+" where "+want+" is wanted")
}

// view reads one frame's payload in place. The msgpack library reads from the view, and because the library never reads
// ahead, the codec can take byte strings out of the view without a copy.
type view struct {
	bytes []byte
	off   int
}

// rest returns how many bytes are still unread.
func (v *view) rest() int {
	return len(v.bytes) - v.off
}

// peek returns the next byte, the code of the next value, without moving on.
func (v *view) peek() (code byte, ok bool) {
	if v.off >= len(v.bytes) {
		return 0, false
	}
	return v.bytes[v.off], true
}

// skipPrefix moves on behind the bytes of prefix, if they come next.
func (v *view) skipPrefix(prefix string) bool {
	if v.rest() < len(prefix) || string(v.bytes[v.off:v.off+len(prefix)]) != prefix {
		return false
	}
	v.off += len(prefix)
	return true
}

// take returns the next n bytes. The caller has checked that the view has n bytes. The capacity of the slice ends with
// its length, so that an append never writes into the frame.
func (v *view) take(n int) []byte {
	b := v.bytes[v.off : v.off+n : v.off+n]
	v.off += n
	return b
}

// Read implements io.Reader.
func (v *view) Read(p []byte) (int, error) {
	if v.off >= len(v.bytes) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, v.bytes[v.off:])
	v.off += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (v *view) ReadByte() (byte, error) {
	if v.off >= len(v.bytes) {
		return 0, io.EOF
	}
	b := v.bytes[v.off]
	v.off++
	return b, nil
}

// UnreadByte implements io.ByteScanner.
func (v *view) UnreadByte() error {
	if v.off == 0 {
		return io.ErrNoProgress
	}
	v.off--
	return nil
}
