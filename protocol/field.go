package protocol

import (
	"encoding/binary"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The calls below are the types in docs/protocol.md: uint, bool, text, bytes, and record. Each call takes the field's
// name in the docs, for errors. Errors from the library's encoder are ignored: the encoder has no errors of its own,
// and writing to a ByteBuffer never fails.
//
// Messages consist almost entirely of small numbers, ids, bools, and short texts. Each call handles its type's common
// encodings directly, without the library's detour through several interfaces. value.go reads the rare encodings with
// the library.

// maxOneByte is the largest number that msgpack encodes as one byte: the number itself.
const maxOneByte = 0x7f

// maxFixedText is the longest text whose length msgpack puts into the type byte.
const maxFixedText = 31

// uint is a field of type uint.
func (c *codec) uint(field string, v *uint64) {
	if c.writing {
		switch n := *v; {
		case n <= maxOneByte:
			c.out.B = append(c.out.B, byte(n))
		case n > math.MaxUint32: // session ids, and mutation numbers
			c.out.B = binary.BigEndian.AppendUint64(append(c.out.B, msgpcode.Uint64), n)
		default:
			_ = c.enc.EncodeUint(n)
		}
		c.array.fields++
		if *v != 0 {
			c.array.kept, c.array.end = c.array.fields, len(c.out.B)
		}
		return
	}
	*v = 0
	if c.left == 0 {
		return
	}
	c.left--
	switch rest := c.in[c.off:]; {
	case len(rest) > 0 && rest[0] <= maxOneByte:
		c.off++
		*v = uint64(rest[0])
	case len(rest) > 0 && rest[0]&^3 == msgpcode.Uint8 && len(rest) > 1<<(rest[0]&3): // 1, 2, 4 or 8 bytes
		n := uint64(0)
		size := 1 << (rest[0] & 3)
		for _, b := range rest[1 : 1+size] {
			n = n<<8 | uint64(b)
		}
		c.off += 1 + size
		*v = n
	default:
		*v = c.rareUint(field)
	}
}

// millis is a uint that holds milliseconds, up to a maximum.
func (c *codec) millis(field string, v *uint64, most uint64) {
	c.uint(field, v)
	if !c.writing && *v > most {
		c.fail(field, strconv.FormatUint(*v, 10)+" ms, at most "+strconv.FormatUint(most, 10))
		*v = 0
	}
}

// timeout is a uint that holds milliseconds, up to a maximum, or Forever.
func (c *codec) timeout(field string, v *uint64, most uint64) {
	c.uint(field, v)
	if !c.writing && *v > most && *v != Forever {
		c.fail(field, strconv.FormatUint(*v, 10)+" ms, at most "+strconv.FormatUint(most, 10)+" or for ever")
		*v = 0
	}
}

// enum is a uint held by a small type in this package. An unknown value is kept, because a peer with a later version
// may have further values.
func enum[E ~uint8](c *codec, field string, v *E) {
	wide := uint64(*v)
	c.uint(field, &wide)
	if c.writing {
		return // a message being sent may be shared, so the variable is never written to, not even with its own value
	}
	if wide > 255 {
		c.fail(field, strconv.FormatUint(wide, 10)+", at most 255")
		wide = 0
	}
	*v = E(wide)
}

// nameOf returns an enum value's name as the docs write it, or the number if it has no name here.
func nameOf[E ~uint8](e E, what string, names ...string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return what + "_" + strconv.Itoa(int(e))
}

// bool is a field of type bool.
func (c *codec) bool(field string, v *bool) {
	if c.writing {
		c.array.fields++
		if *v {
			c.out.B = append(c.out.B, msgpcode.True)
			c.array.kept, c.array.end = c.array.fields, len(c.out.B)
		} else {
			c.out.B = append(c.out.B, msgpcode.False)
		}
		return
	}
	*v = false
	if c.left == 0 {
		return
	}
	c.left--
	switch rest := c.in[c.off:]; {
	case len(rest) == 0:
		c.fail(field, truncated)
	case rest[0] == msgpcode.True, rest[0] == msgpcode.False, rest[0] == msgpcode.Nil:
		c.off++
		*v = rest[0] == msgpcode.True
	default:
		c.failType(field, "bool", rest[0])
	}
}

// text is a text field: UTF-8 with a maximum length. The text read is a view into the frame.
func (c *codec) text(field string, v *[]byte, most uint64) {
	if c.writing {
		if n := len(*v); n <= maxFixedText {
			c.out.B = append(append(c.out.B, msgpcode.FixedStrLow|byte(n)), *v...)
		} else {
			_ = c.enc.EncodeString(Text(*v)) // the library reads it only until the call returns
		}
		c.array.fields++
		if len(*v) != 0 {
			c.array.kept, c.array.end = c.array.fields, len(c.out.B)
		}
		return
	}
	*v = nil
	if c.left == 0 {
		return
	}
	c.left--
	if *v = c.readString(field, "text", most); !utf8.Valid(*v) {
		c.fail(field, "is not UTF-8")
		*v = nil
	}
}

// textCopy is a text field that is copied out of the frame, for errors, which outlive frames. Errors quote user texts,
// so writing corrects a text that is too long or not UTF-8.
func (c *codec) textCopy(field string, v *string, most uint64) {
	if c.writing {
		_ = c.enc.EncodeString(clip(*v, int(most)))
		c.wrote(*v != "")
		return
	}
	var b []byte
	c.text(field, &b, most)
	*v = string(b)
}

// bytes is a bytes field with a maximum length. The bytes read are a view into the frame.
func (c *codec) bytes(field string, v *[]byte, most uint64) {
	if c.writing {
		if n := len(*v); n <= math.MaxUint8 {
			c.out.B = append(append(c.out.B, msgpcode.Bin8, byte(n)), *v...)
		} else {
			_ = c.enc.EncodeBytesLen(n)
			_, _ = c.out.Write(*v)
		}
		c.array.fields++
		if len(*v) != 0 {
			c.array.kept, c.array.end = c.array.fields, len(c.out.B)
		}
		return
	}
	*v = nil
	if c.left > 0 {
		c.left--
		*v = c.readString(field, "bytes", most)
	}
}

// readString reads a byte string in either msgpack family, str or bin: not every language distinguishes the two. The
// slice's capacity ends with its length, so an append never writes into the frame.
func (c *codec) readString(field, want string, most uint64) []byte {
	var n int
	switch rest := c.in[c.off:]; {
	case len(rest) > 0 && msgpcode.IsFixedString(rest[0]):
		n = int(rest[0] & msgpcode.FixedStrMask)
		c.off++
	case len(rest) > 1 && (rest[0] == msgpcode.Bin8 || rest[0] == msgpcode.Str8):
		n = int(rest[1])
		c.off += 2
	default:
		n = c.rareLen(field, want)
	}
	rest := c.in[c.off:]
	switch {
	case n <= 0:
		return nil
	case uint64(n) > most:
		c.fail(field, strconv.Itoa(n)+" bytes, at most "+strconv.FormatUint(most, 10))
		return nil
	case n > len(rest):
		c.fail(field, truncated)
		return nil
	}
	c.off += n
	return rest[:n:n]
}

// record is a field that holds an array of fields.
func (c *codec) record(field string, fields func(*codec)) {
	if c.writing {
		outer := c.array
		c.array = openArray{start: len(c.out.B), end: len(c.out.B) + 1}
		c.out.B = append(c.out.B, msgpcode.FixedArrayLow)
		fields(c)
		nonzero := c.closeArray()
		c.array = outer
		c.wrote(nonzero)
		return
	}
	if c.left == 0 {
		fields(c) // the array has no fields left, so all fields become zero
		return
	}
	outer := c.left - 1
	c.left = c.arrayLen("")
	fields(c)
	c.skip(c.left) // fields from a later version
	c.left = outer
	if c.err != nil {
		c.left = 0
		c.err.within(field)
	}
}

// closeArray ends the array being written, removes its trailing zero fields, and reports whether any field remains.
func (c *codec) closeArray() (nonzero bool) {
	if c.array.fields > maxFields {
		panic("protocol: a message or record has more fields than its array can count")
	}
	c.out.B = c.out.B[:c.array.end]
	c.out.B[c.array.start] = msgpcode.FixedArrayLow | byte(c.array.kept)
	return c.array.kept > 0
}

// clip returns text as UTF-8 with at most the given number of bytes.
func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= most {
		return text
	}
	end := most
	for !utf8.RuneStart(text[end]) {
		end--
	}
	return text[:end]
}
