// Package codec encodes and decodes everything that shards store: commands in logs and records in snapshots. Fields
// follow each other, and each value has exactly one encoding. A Coder writes or reads the fields in one listing; an
// Input only reads, without allocating.
package codec

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Err is wrapped by errors about bytes that are not a valid encoding, ErrNewer by errors about bytes in a later
// encoding.
var (
	Err      = errors.New("these bytes were never saved")
	ErrNewer = errors.New("saved in a form that this build does not know")
)

// Coder writes fields, or reads fields into the same variables. So one function per type handles both directions, and
// the two cannot differ. Each value has exactly one encoding: decoding valid bytes and encoding the value again gives
// the same bytes.
type Coder struct {
	dst     []byte // written so far
	in      Input
	reading bool
}

// Writer returns a coder that appends to bytes.
func Writer(dst []byte) *Coder { return &Coder{dst: dst} }

// Reader returns a coder that reads bytes.
func Reader(src []byte) *Coder { return &Coder{in: Input{Data: src}, reading: true} }

// Reading reports whether the coder reads. A writer must not change the values it writes, because other goroutines may
// be reading them.
func (c *Coder) Reading() bool { return c.reading }

// Data returns the bytes written so far.
func (c *Coder) Data() []byte { return c.dst }

// Input returns the bytes a reader has not read yet, for values no single writer function produces.
func (c *Coder) Input() *Input { return &c.in }

// Left is how many bytes a reader has not read yet.
func (c *Coder) Left() int { return len(c.in.Data) }

// Err returns the first error, or nil.
func (c *Coder) Err() error { return c.in.Err() }

// Sound reports whether there was no error yet.
func (c *Coder) Sound() bool { return c.in.Sound() }

// Fail marks the bytes as invalid. The first reason is kept.
func (c *Coder) Fail(format string, args ...any) {
	if c.Sound() {
		c.in.Fail(fmt.Sprintf(format, args...))
	}
}

// Must is for reading: a false condition marks the bytes as invalid.
func (c *Coder) Must(holds bool, format string, args ...any) {
	if c.reading && !holds {
		c.Fail(format, args...)
	}
}

// Form encodes or decodes the form number, at the beginning of saved bytes. A form with more fields gets the next
// number.
func (c *Coder) Form(number uint64) {
	v := number
	c.Number(&v)
	c.Must(v == number, "the form is %d", v)
}

// Save appends fields.
func Save(dst []byte, fields func(*Coder)) []byte {
	c := Writer(dst)
	fields(c)
	return c.Data()
}

// Load decodes fields that Save appended. They must be all of src and begin with a form number up to newest. check,
// which may be nil, compares the fields with one another. Error texts begin with the operation.
func Load(src []byte, newest byte, operation string, fields, check func(*Coder)) error {
	if len(src) > 0 && src[0] > newest {
		return fmt.Errorf("%s: %w", operation, ErrNewer)
	}
	c := Reader(src)
	if fields(c); c.Sound() && check != nil {
		check(c)
	}
	return c.Finish(operation)
}

// Number encodes or decodes a number.
func (c *Coder) Number(p *uint64) {
	if !c.reading {
		c.dst = binary.AppendUvarint(c.dst, *p)
		return
	}
	*p = c.in.Number()
}

// Uint64 encodes or decodes a number in eight bytes.
func (c *Coder) Uint64(p *uint64) {
	if !c.reading {
		c.dst = binary.LittleEndian.AppendUint64(c.dst, *p)
		return
	}
	*p = c.in.Uint64()
}

// Numbers encodes or decodes several numbers.
func (c *Coder) Numbers(list ...*uint64) {
	for _, p := range list {
		c.Number(p)
	}
}

// Flag encodes or decodes a bool.
func (c *Coder) Flag(p *bool) {
	v := uint64(0)
	if *p {
		v = 1
	}
	c.Number(&v)
	if c.reading {
		c.Must(v <= 1, "a flag is %d", v)
		*p = v == 1
	}
}

// Flags encodes or decodes several bools in one number, the first in its lowest bit.
func (c *Coder) Flags(list ...*bool) {
	v := uint64(0)
	for i, p := range list {
		if *p {
			v |= 1 << i
		}
	}
	c.Number(&v)
	c.Must(v>>len(list) == 0, "the flags are %d", v)
	if c.reading {
		for i, p := range list {
			*p = v&(1<<i) != 0
		}
	}
}

// Text encodes or decodes a text.
func (c *Coder) Text(p *string, limit int) {
	if !c.reading {
		c.dst = AppendBytes(c.dst, *p)
		return
	}
	*p = string(c.cut(limit))
}

// Bytes encodes or decodes bytes. A reader copies the bytes.
func (c *Coder) Bytes(p *[]byte, limit int) {
	if !c.reading {
		c.dst = AppendBytes(c.dst, *p)
		return
	}
	if b := c.cut(limit); len(b) > 0 {
		*p = append([]byte(nil), b...)
	}
}

// cut reads a length and returns that many bytes.
func (c *Coder) cut(limit int) []byte {
	n := c.in.Number()
	if n > uint64(min(limit, len(c.in.Data))) {
		c.Fail("a text of %d bytes is too long", n)
		return nil
	}
	return c.in.take(n)
}

// Raw encodes or decodes bytes with a fixed length, without the length.
func (c *Coder) Raw(p []byte) {
	switch {
	case !c.reading:
		c.dst = append(c.dst, p...)
	case c.in.Must(len(p) <= len(c.in.Data), cutShort):
		copy(p, c.in.take(uint64(len(p))))
	}
}

// Fixed encodes or decodes bytes with a fixed length, after the length.
func (c *Coder) Fixed(p []byte) {
	s := string(p)
	c.Text(&s, len(p))
	c.Must(len(s) == len(p), "%d bytes stand for %d", len(s), len(p))
	if c.reading {
		copy(p, s)
	}
}

// Uint encodes or decodes a number with any uint64 type.
func Uint[T ~uint64](c *Coder, p *T) {
	v := uint64(*p)
	if c.Number(&v); c.reading {
		*p = T(v)
	}
}

// Uints encodes or decodes a number list: its length and the numbers.
func Uints[T ~uint64](c *Coder, p *[]T, limit int) { List(c, p, limit, func(n *T) { Uint(c, n) }) }

// Byte encodes or decodes a number in one byte.
func Byte[T ~uint8](c *Coder, p *T) {
	if !c.reading {
		c.dst = append(c.dst, byte(*p))
		return
	}
	*p = T(c.in.Byte())
}

// Small encodes or decodes an enum value. Every value can be read, because the rules judge the value.
func Small[T ~uint8 | ~uint16](c *Coder, p *T) {
	v := uint64(*p)
	c.Number(&v)
	c.Must(uint64(T(v)) == v, "a setting is %d", v)
	if c.reading {
		*p = T(v)
	}
}

// Enum encodes or decodes an enum value below an end.
func Enum[T ~uint8](c *Coder, p *T, end T) {
	v := uint64(*p)
	c.Number(&v)
	switch {
	case !c.reading:
	case v >= uint64(end):
		c.Fail("a setting has the unknown value %d", v)
	default:
		*p = T(v)
	}
}

// List encodes or decodes a list: its length and its entries. An entry takes at least one byte.
func List[T any](c *Coder, p *[]T, limit int, entry func(*T)) {
	n := uint64(len(*p))
	c.Number(&n)
	if c.reading {
		if n > uint64(limit) || n > uint64(len(c.in.Data)) {
			c.Fail("a list of %d is too long", n)
			return
		}
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for k := range *p {
		entry(&(*p)[k])
		if !c.Sound() {
			return
		}
	}
}

// Pointers is List for entries stored as pointers.
func Pointers[T any](c *Coder, p *[]*T, limit int, entry func(*T, *Coder)) {
	List(c, p, limit, func(e **T) {
		if *e == nil {
			*e = new(T)
		}
		entry(*e, c)
	})
}

// Finish returns the reading error. Error texts begin with the operation.
func (c *Coder) Finish(operation string) error {
	c.in.End()
	if err := c.in.Err(); err != nil {
		return fmt.Errorf("%s: %w", operation, err)
	}
	return nil
}

// FitText reports whether texts for people are valid text within the length limit, in bytes.
func FitText(limit int, list ...string) bool {
	for _, s := range list {
		if len(s) > limit || !utf8.ValidString(s) {
			return false
		}
	}
	return true
}

// Named lists some names for people, and how many more there are.
func Named[T fmt.Stringer](some []T, of int) string {
	var names []string
	for _, n := range some {
		names = append(names, n.String())
	}
	if more := of - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// Cut shortens a text to a number of bytes, at a character boundary.
func Cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	end := limit
	for end > 0 && s[end]&0xc0 == 0x80 {
		end--
	}
	return s[:end]
}

// Time formats milliseconds for people: 1.2s, 8m20s, 3h5m.
func Time(millis uint64) string {
	d := time.Duration(min(millis, math.MaxInt64/uint64(time.Millisecond))) * time.Millisecond
	switch {
	case d < 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case d < time.Hour:
		return d.Truncate(time.Second).String()
	}
	return strings.TrimSuffix(d.Truncate(time.Minute).String(), "0s")
}
