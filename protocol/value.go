package protocol

import (
	"io"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The calls below read rare value encodings. A call checks the value's type byte first, so the library reads only
// values with the expected type, and checks every length before use.

// rareUint reads a number. Encoders in languages without unsigned numbers write positive numbers in signed encodings
// too.
func (c *codec) rareUint(field string) uint64 {
	if c.rest() == 0 {
		c.fail(field, truncated)
		return 0
	}
	code := c.in[c.off]
	if (code < msgpcode.Uint8 || code > msgpcode.Int64) && code < msgpcode.NegFixedNumLow && code != msgpcode.Nil {
		c.failType(field, "uint", code)
		return 0
	}
	n, err := c.dec.DecodeInt64()
	switch {
	case n < 0:
		c.fail(field, strconv.FormatInt(n, 10)+" is not a uint")
		return 0
	case err != nil:
		c.fail(field, truncated)
	}
	return uint64(n)
}

// rareLen reads a byte string's length in an encoding other than the short ones; -1 for nil.
func (c *codec) rareLen(field, want string) int {
	if c.rest() == 0 {
		c.fail(field, truncated)
		return 0
	}
	code := c.in[c.off]
	if !msgpcode.IsString(code) && !msgpcode.IsBin(code) && code != msgpcode.Nil {
		c.failType(field, want, code)
		return 0
	}
	n, err := c.dec.DecodeBytesLen()
	if err != nil {
		c.fail(field, truncated)
	}
	return n
}

// arrayLen reads an array head. Every item takes at least one byte, so a count above the number of unread bytes is
// wrong, and is refused before use.
func (c *codec) arrayLen(field string) int {
	if c.rest() == 0 {
		c.fail(field, truncated)
		return 0
	}
	var n int
	code := c.in[c.off]
	switch {
	case msgpcode.IsFixedArray(code):
		c.off++
		n = int(code & msgpcode.FixedArrayMask)
	case code == msgpcode.Nil:
		c.off++
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
	if n > c.rest() {
		c.fail(field, "an array of "+strconv.Itoa(n)+" items in "+strconv.Itoa(c.rest())+" bytes")
		return 0
	}
	return n
}

// failType reports a value with a type that does not match its field.
func (c *codec) failType(field, want string, code byte) {
	c.fail(field, codeName(code)+" where "+want+" is wanted")
}

// rest returns how many bytes are still unread.
func (s *source) rest() int {
	return len(s.in) - s.off
}

// Read implements io.Reader.
func (s *source) Read(p []byte) (int, error) {
	if s.off >= len(s.in) && len(p) > 0 {
		return 0, io.EOF
	}
	n := copy(p, s.in[s.off:])
	s.off += n
	return n, nil
}

// ReadByte implements io.ByteReader.
func (s *source) ReadByte() (byte, error) {
	if s.off >= len(s.in) {
		return 0, io.EOF
	}
	b := s.in[s.off]
	s.off++
	return b, nil
}

// UnreadByte implements io.ByteScanner.
func (s *source) UnreadByte() error {
	if s.off == 0 {
		return io.ErrNoProgress
	}
	s.off--
	return nil
}
