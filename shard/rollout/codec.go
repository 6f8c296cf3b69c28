package rollout

import (
	"encoding/binary"
	"errors"
	"fmt"
)

// ErrForm is in errors about bytes that no rollout was saved as.
var ErrForm = errors.New("these bytes are no rollout")

// coder writes fields, or reads them into the same places: so one function per thing says both forms, and they cannot
// differ. What is read has exactly one form: what Load accepts, Save writes again byte by byte.
type coder struct {
	data    []byte // written so far, or not yet read
	reading bool
	bad     string
}

func (c *coder) fail(format string, args ...any) {
	if c.bad == "" {
		c.bad = fmt.Sprintf(format, args...)
	}
	c.data = nil
}

// must is for reading: what does not hold makes the bytes unsound.
func (c *coder) must(holds bool, format string, args ...any) {
	if c.reading && !holds {
		c.fail(format, args...)
	}
}

func (c *coder) number(p *uint64) {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, *p)
		return
	}
	v, n := binary.Uvarint(c.data)
	if n <= 0 || n > 1 && c.data[n-1] == 0 {
		c.fail("a number is cut off, too long or not in its shortest form")
		return
	}
	*p, c.data = v, c.data[n:]
}

// numbers are coded one after the other.
func (c *coder) numbers(list ...*uint64) {
	for _, p := range list {
		c.number(p)
	}
}

func (c *coder) flag(p *bool) {
	v := uint64(0)
	if *p {
		v = 1
	}
	c.number(&v)
	c.must(v <= 1, "a flag is %d", v)
	*p = v == 1
}

func (c *coder) text(p *string, limit int) {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, uint64(len(*p)))
		c.data = append(c.data, *p...)
		return
	}
	*p = string(c.cut(limit))
}

func (c *coder) bytes(p *[]byte, limit int) {
	if !c.reading {
		c.data = binary.AppendUvarint(c.data, uint64(len(*p)))
		c.data = append(c.data, *p...)
		return
	}
	if b := c.cut(limit); len(b) > 0 {
		*p = append([]byte(nil), b...)
	}
}

// cut reads a length and takes so many bytes.
func (c *coder) cut(limit int) []byte {
	var n uint64
	c.number(&n)
	if n > uint64(limit) || n > uint64(len(c.data)) {
		c.fail("a text of %d bytes is too long", n)
		return nil
	}
	b := c.data[:n]
	c.data = c.data[n:]
	return b
}

// enum codes a small number that is below an end.
func enum[T ~uint8](c *coder, p *T, end T) {
	v := uint64(*p)
	c.number(&v)
	if c.reading && v >= uint64(end) {
		c.fail("a setting has the unknown value %d", v)
		return
	}
	*p = T(v)
}

// list codes the length of a list and its entries. An entry takes a byte at least.
func list[T any](c *coder, p *[]T, limit int, entry func(*T)) {
	n := uint64(len(*p))
	c.number(&n)
	if c.reading {
		if n > uint64(limit) || n > uint64(len(c.data)) {
			c.fail("a list of %d is too long", n)
			return
		}
		*p = nil
		if n > 0 {
			*p = make([]T, n)
		}
	}
	for k := range *p {
		entry(&(*p)[k])
		if c.bad != "" {
			return
		}
	}
}

// finish returns what went wrong with reading.
func (c *coder) finish(what string) error {
	c.must(len(c.data) == 0 || c.bad != "", "%d bytes stand behind the last field", len(c.data))
	if c.bad != "" {
		return fmt.Errorf("rollout: %s: %s: %w", what, c.bad, ErrForm)
	}
	return nil
}
