package protocol

import (
	"encoding/binary"
	"strconv"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// skip moves past n values, whatever they are.
//
// skip counts the pending values instead of descending into nested values, so nesting, however deep, costs neither
// stack nor memory. Every value takes at least one byte, so a count above the number of unread bytes ends the skip at
// once.
func (c *codec) skip(n int) {
	for pending := n; pending > 0; {
		if pending > c.rest() {
			c.fail("", strconv.Itoa(pending)+" values announced in "+strconv.Itoa(c.rest())+" bytes")
			return
		}
		inside, ok := c.skipOne()
		if !ok {
			return
		}
		pending += inside - 1
	}
}

// skipOne moves past one value, but for an array or a map only past the head, and returns how many values the head
// announces.
func (c *codec) skipOne() (inside int, ok bool) {
	code := c.in[c.off]
	c.off++
	switch {
	case msgpcode.IsFixedNum(code), code == msgpcode.Nil, code == msgpcode.False, code == msgpcode.True:
		return 0, true
	case msgpcode.IsFixedString(code):
		return 0, c.skipBytes(int(code & msgpcode.FixedStrMask))
	case msgpcode.IsFixedArray(code):
		return int(code & msgpcode.FixedArrayMask), true
	case msgpcode.IsFixedMap(code):
		return 2 * int(code&msgpcode.FixedMapMask), true
	}
	if n := bytesBehind[code]; n > 0 {
		return 0, c.skipBytes(n)
	}
	switch code {
	case msgpcode.Str8, msgpcode.Bin8:
		return 0, c.skipCounted(1, 0)
	case msgpcode.Str16, msgpcode.Bin16:
		return 0, c.skipCounted(2, 0)
	case msgpcode.Str32, msgpcode.Bin32:
		return 0, c.skipCounted(4, 0)
	case msgpcode.Ext8:
		return 0, c.skipCounted(1, 1)
	case msgpcode.Ext16:
		return 0, c.skipCounted(2, 1)
	case msgpcode.Ext32:
		return 0, c.skipCounted(4, 1)
	case msgpcode.Array16:
		return c.skipLength(2)
	case msgpcode.Array32:
		return c.skipLength(4)
	case msgpcode.Map16:
		inside, ok = c.skipLength(2)
		return 2 * inside, ok
	case msgpcode.Map32:
		inside, ok = c.skipLength(4)
		return 2 * inside, ok
	}
	c.fail("", "the code 0xc1, which msgpack does not use")
	return 0, false
}

// bytesBehind are how many bytes follow the type byte for fixed-size values.
var bytesBehind = map[byte]int{
	msgpcode.Uint8: 1, msgpcode.Uint16: 2, msgpcode.Uint32: 4, msgpcode.Uint64: 8,
	msgpcode.Int8: 1, msgpcode.Int16: 2, msgpcode.Int32: 4, msgpcode.Int64: 8,
	msgpcode.Float: 4, msgpcode.Double: 8,
	msgpcode.FixExt1: 2, msgpcode.FixExt2: 3, msgpcode.FixExt4: 5, msgpcode.FixExt8: 9, msgpcode.FixExt16: 17,
}

// skipBytes moves on by n bytes.
func (c *codec) skipBytes(n int) bool {
	if n > c.rest() {
		c.fail("", truncated)
		return false
	}
	c.off += n
	return true
}

// skipCounted moves past a length with size bytes, as many bytes as the length says, and extra bytes.
func (c *codec) skipCounted(size, extra int) bool {
	n, ok := c.skipLength(size)
	return ok && c.skipBytes(n+extra)
}

// skipLength reads a length of 1, 2 or 4 bytes.
func (c *codec) skipLength(size int) (n int, ok bool) {
	if size > c.rest() {
		c.fail("", truncated)
		return 0, false
	}
	b := c.in[c.off:]
	c.off += size
	switch size {
	case 1:
		return int(b[0]), true
	case 2:
		return int(binary.BigEndian.Uint16(b)), true
	default:
		return int(binary.BigEndian.Uint32(b)), true
	}
}

// codeName describes what a msgpack type byte announces.
func codeName(code byte) string {
	switch {
	case msgpcode.IsFixedNum(code), code >= msgpcode.Uint8 && code <= msgpcode.Int64:
		return "an integer"
	case msgpcode.IsString(code):
		return "a string"
	case msgpcode.IsBin(code):
		return "bytes"
	case msgpcode.IsFixedArray(code), code == msgpcode.Array16, code == msgpcode.Array32:
		return "an array"
	case msgpcode.IsFixedMap(code), code == msgpcode.Map16, code == msgpcode.Map32:
		return "a map"
	case code == msgpcode.False, code == msgpcode.True:
		return "a bool"
	case code == msgpcode.Float, code == msgpcode.Double:
		return "a float"
	case msgpcode.IsExt(code):
		return "an extension"
	case code == msgpcode.Nil:
		return "nil"
	}
	return "a code that msgpack does not use"
}
