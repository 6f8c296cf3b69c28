package protocol

import (
	"strconv"
	"strings"
	"unicode/utf8"
	"unsafe"

	"github.com/vmihailenco/msgpack/v5/msgpcode"
)

// The calls below are the types of docs/protocol.md: uint, bool, text, bytes, and record. Each call takes the field's
// name in the docs, for errors. Errors of the library's encoder are ignored: the encoder has no errors of its own, and
// writing to a ByteBuffer never fails.
//
// Values of one byte (small numbers, bools, heads of short arrays) are the largest part of a message, and are their own
// encoding. The calls handle such values here, without the library's way through several interfaces, which saves a
// seventh of the time of an acquire.

// maxOneByte is the largest number that msgpack writes as one byte: the number itself.
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

// enum is a uint that a small type of this package holds. An unknown value is kept, because a peer of a later version
// may have further values.
func enum[E ~uint8](c *codec, field string, v *E) {
	wide := uint64(*v)
	c.uint(field, &wide)
	if c.writing {
		return // many may share a message to send, so the variable is never written to, not even its own value
	}
	if wide > 255 {
		c.fail(field, strconv.FormatUint(wide, 10)+", at most 255")
		wide = 0
	}
	*v = E(wide)
}

// nameOf returns the name of a small number as the docs write it, or the number itself for a number without a name
// here.
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

// text is a field of type text: UTF-8 of at most so many bytes. The text that is read is a view into the frame.
func (c *codec) text(field string, v *[]byte, most uint64) {
	if c.writing {
		// The library wants a string; the string made here is read only until the call returns.
		_ = c.enc.EncodeString(unsafe.String(unsafe.SliceData(*v), len(*v)))
		c.wrote(len(*v) != 0)
		return
	}
	*v = nil
	if c.next() {
		*v = c.readText(field, most)
	}
}

// textCopy is a field of type text that is copied out of the frame, for errors, which outlive frames. Errors quote the
// texts of users, so writing corrects a text that is too long or not UTF-8.
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

// bytes is a field of type bytes, of at most so many. The bytes that are read are a view into the frame.
func (c *codec) bytes(field string, v *[]byte, most uint64) {
	if c.writing {
		_ = c.enc.EncodeBytesLen(len(*v))
		_, _ = c.out.Write(*v)
		c.wrote(len(*v) != 0)
		return
	}
	*v = nil
	if c.next() {
		*v = c.readString(field, "bytes", most)
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
		fields(c) // the array has no fields left, so all fields become zero
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
