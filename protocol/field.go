package protocol

import (
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The calls below are the types of docs/protocol.md: uint, bool, text, bytes, and record. Each takes the
// field's name as the docs write it, for errors. Errors of the library's encoder are ignored: it
// has none of its own, and writing to a ByteBuffer never fails.
//
// Values of one byte (small numbers, bools, heads of short arrays) are most of what a message consists
// of, and they are their own encoding. They are handled here, without the library's way through several
// interfaces, which saves a seventh of the time of an acquire.

// maxOneByte is the largest number that msgpack writes as one byte: itself.
const maxOneByte = 0x7f

// uint is a field of type uint.
func (c *codec) uint(field string, v *uint64) {
	if c.writing {
		if *v <= maxOneByte {
			c.out.B = append(c.out.B, byte(*v))
		} else {
			_ = c.enc.EncodeUint(*v)
		}
		c.wrote(*v != 0)
		return
	}
	*v = 0
	if c.next() {
		*v = c.readUint(field)
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

// enum is a uint that one of this package's small types holds. A value that is not known here is kept:
// a peer of a later version may have more of them.
func enum[E ~uint8](c *codec, field string, v *E) {
	wide := uint64(*v)
	c.uint(field, &wide)
	if c.writing {
		return // what is sent may be shared by many, so it is not written to, not even with its own value
	}
	if wide > 255 {
		c.fail(field, strconv.FormatUint(wide, 10)+", at most 255")
		wide = 0
	}
	*v = E(wide)
}

// nameOf returns the name of a small number as the docs write it, or the number itself where it has none here.
func nameOf[E ~uint8](e E, what string, names ...string) string {
	if int(e) < len(names) {
		return names[e]
	}
	return what + "_" + strconv.Itoa(int(e))
}

// bool is a field of type bool.
func (c *codec) bool(field string, v *bool) {
	if c.writing {
		code := msgpcode.False
		if *v {
			code = msgpcode.True
		}
		c.out.B = append(c.out.B, code)
		c.wrote(*v)
		return
	}
	*v = false
	if c.next() {
		*v = c.readBool(field)
	}
}

// text is a field of type text: UTF-8, at most so many bytes. What is read is a view into the frame.
func (c *codec) text(field string, v *[]byte, most uint64) {
	if c.writing {
		// The library wants a string; this one is read only until the call returns.
		_ = c.enc.EncodeString(unsafe.String(unsafe.SliceData(*v), len(*v)))
		c.wrote(len(*v) != 0)
		return
	}
	*v = nil
	if c.next() {
		*v = c.readText(field, most)
	}
}

// textCopy is a field of type text that is copied out of the frame, for what outlives it: errors. Since
// errors quote what users send, what is not UTF-8 or too long is corrected when it is written.
func (c *codec) textCopy(field string, v *string, most uint64) {
	if c.writing {
		_ = c.enc.EncodeString(clip(*v, int(most)))
		c.wrote(*v != "")
		return
	}
	*v = ""
	if c.next() {
		*v = string(c.readText(field, most))
	}
}

// bytes is a field of type bytes, at most so many. What is read is a view into the frame.
func (c *codec) bytes(field string, v *[]byte, most uint64) {
	if c.writing {
		_ = c.enc.EncodeBytesLen(len(*v))
		_, _ = c.out.Write(*v)
		c.wrote(len(*v) != 0)
		return
	}
	*v = nil
	if c.next() {
		*v = c.readBytes(field, most)
	}
}

// data is a field of type bytes whose maximum the host sets.
func (c *codec) data(field string, v *[]byte) {
	c.bytes(field, v, c.dataMax)
}

// record is a field that holds an array of fields.
func (c *codec) record(field string, fields func(*codec)) {
	if c.writing {
		outer := c.openArray()
		fields(c)
		c.wrote(c.closeArray(outer))
		return
	}
	if !c.next() {
		fields(c) // the array has no fields left, so this makes all of them zero
		return
	}
	outer := c.openRead()
	fields(c)
	c.closeRead(field, outer)
}

// clip returns text as UTF-8 of at most so many bytes.
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
