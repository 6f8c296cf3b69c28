package meta

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/signalbox/signalbox/shard"
)

// Batches and snapshots are made of the same fields: numbers as varints, texts as a length and bytes.

// fieldReader reads fields from unchecked bytes. The first error stays in err, and all later reads return zero. The
// memory that the reader allocates is bounded by the length of the bytes.
type fieldReader struct {
	src []byte
	err error
}

func (r *fieldReader) fail(format string, args ...any) {
	if r.err == nil {
		r.err = fmt.Errorf(format, args...)
		r.src = nil
	}
}

func (r *fieldReader) number(name string) uint64 {
	n, size := binary.Uvarint(r.src)
	if size <= 0 {
		if size == 0 {
			r.fail("%s: the bytes end within the number", name)
		}
		r.fail("%s: the number does not fit into 64 bits", name)
		return 0
	}
	r.src = r.src[size:]
	return n
}

// upTo reads a number with an upper bound.
func (r *fieldReader) upTo(name string, most uint64) uint64 {
	n := r.number(name)
	if n > most {
		r.fail("%s: %d is above %d", name, n, most)
		return 0
	}
	return n
}

func (r *fieldReader) octet(name string) byte {
	if len(r.src) == 0 {
		r.fail("%s: the byte is missing", name)
		return 0
	}
	b := r.src[0]
	r.src = r.src[1:]
	return b
}

func (r *fieldReader) fixed64(name string) uint64 {
	if len(r.src) < 8 {
		r.fail("%s: 8 bytes are needed, %d are left", name, len(r.src))
		return 0
	}
	n := binary.LittleEndian.Uint64(r.src)
	r.src = r.src[8:]
	return n
}

// bytes reads a length and as many bytes, without a copy.
func (r *fieldReader) bytes(name string) []byte {
	n := r.number(name)
	if n > uint64(len(r.src)) {
		r.fail("%s: a length of %d, but %d bytes are left", name, n, len(r.src))
		return nil
	}
	b := r.src[:n]
	r.src = r.src[n:]
	return b
}

// count reads the length of a list whose entries take at least one byte.
func (r *fieldReader) count(name string) int {
	n := r.number(name)
	if n > uint64(len(r.src)) {
		r.fail("%s: %d entries, but %d bytes are left", name, n, len(r.src))
		return 0
	}
	return int(n)
}

// end returns the first error. Bytes left unread are an error too.
func (r *fieldReader) end() error {
	if len(r.src) > 0 {
		r.fail("%d bytes more than there should be", len(r.src))
	}
	return r.err
}

// coder writes fields, or reads fields into the same places: so one listing of the fields of a type has both
// directions. A writer never changes the values that it writes, because other goroutines may be reading them.
type coder struct {
	dst  []byte       // what was written
	from *fieldReader // nil for a writer
}

// appended appends the fields of a value to dst.
func appended(dst []byte, fields func(*coder)) []byte {
	c := coder{dst: dst}
	fields(&c)
	return c.dst
}

func codeNumber[N ~uint64](c *coder, name string, p *N) {
	if c.from == nil {
		c.dst = binary.AppendUvarint(c.dst, uint64(*p))
		return
	}
	*p = N(c.from.number(name))
}

// codeSlot codes a slot. The users of a slot check whether the slot exists.
func codeSlot(c *coder, name string, p *shard.Slot) {
	if c.from == nil {
		c.dst = binary.AppendUvarint(c.dst, uint64(*p))
		return
	}
	*p = shard.Slot(c.from.upTo(name, math.MaxUint16))
}

func codeOctet[N ~uint8](c *coder, name string, p *N) {
	if c.from == nil {
		c.dst = append(c.dst, byte(*p))
		return
	}
	*p = N(c.from.octet(name))
}

func (c *coder) fixed64(name string, p *uint64) {
	if c.from == nil {
		c.dst = binary.LittleEndian.AppendUint64(c.dst, *p)
		return
	}
	*p = c.from.fixed64(name)
}

func (c *coder) text(name string, p *string) {
	if c.from == nil {
		c.dst = binary.AppendUvarint(c.dst, uint64(len(*p)))
		c.dst = append(c.dst, *p...)
		return
	}
	*p = string(c.from.bytes(name))
}

// codeList codes the length of a list and its entries. An entry takes a byte at least. A reader makes nil of an empty
// list.
func codeList[T any](c *coder, name string, p *[]T, entry func(*T)) {
	if c.from == nil {
		c.dst = binary.AppendUvarint(c.dst, uint64(len(*p)))
		for i := range *p {
			entry(&(*p)[i])
		}
		return
	}
	*p = nil
	for range c.from.count(name) {
		var read T
		if entry(&read); c.from.err != nil {
			return
		}
		*p = append(*p, read)
	}
}

func codeNumbers[N ~uint64](c *coder, name string, p *[]N) {
	codeList(c, name, p, func(n *N) { codeNumber(c, name, n) })
}
