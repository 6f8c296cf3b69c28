package protocol

import (
	"bytes"
	"strconv"
	"time"

	"github.com/signalbox/signalbox/protocol/field"
)

// cold is the codec as the field.Coder for packages below protocol. Hot-path messages call the codec directly: a call
// through the interface is not inlined, and moves the field to the heap.
type cold codec

// mostItems bounds how many list items are allocated, whatever the list's limit: an item with one byte can stand for a
// struct with a hundred bytes. Further items are skipped; the value's Check refuses the list.
const mostItems = 1024

// value is a field that holds a record, for a value from a package below.
func (c *codec) value(name string, v field.Value) {
	c.record(name, func(c *codec) { v.Fields((*cold)(c)) })
}

// values is a field that holds a list of values from a package below.
func values[T any, P interface {
	*T
	field.Value
}](c *codec, name string, list *[]T, most int) {
	field.List((*cold)(c), name, list, most, func(v *T, c field.Coder) { P(v).Fields(c) })
}

// Size returns how many bytes a value takes as a list item, for lists that are split into pages.
func Size(v field.Value) int { return len(AppendRecord(nil, v)) }

// Text implements field.Coder, as do the methods that follow.
func (c *cold) Text(name string, v *string, most int) {
	b := View(*v)
	(*codec)(c).text(name, &b, uint64(most))
	if !c.writing {
		*v = string(b)
	}
}

func (c *cold) Bytes(name string, v *[]byte, most int) {
	b := *v
	(*codec)(c).bytes(name, &b, uint64(most))
	if !c.writing {
		*v = bytes.Clone(b)
	}
}

func (c *cold) Number(name string, v *uint64) { (*codec)(c).uint(name, v) }

// number writes or reads a number that another type holds.
func (c *cold) number(name string, n uint64) uint64 {
	(*codec)(c).uint(name, &n)
	return n
}

func (c *cold) Count(name string, v *int) {
	if n := c.number(name, uint64(*v)); !c.writing {
		*v = int(n)
	}
}

func (c *cold) Millis(name string, v *time.Duration) {
	if n := c.number(name, field.MillisOf(*v)); !c.writing {
		*v = field.Duration(n)
	}
}

func (c *cold) Flag(name string, v *bool) { (*codec)(c).bool(name, v) }

func (c *cold) Small(name string, v, _ uint8) uint8 {
	enum((*codec)(c), name, &v)
	return v
}

func (c *cold) Words(name string, v *[]string, most, each int) {
	c.items(name, len(*v), most, func(n int) { *v = field.Made[string](n) }, func(w *codec, i int) {
		b := View((*v)[i])
		w.text("", &b, uint64(each))
		if !w.writing {
			(*v)[i] = string(b)
		}
	})
}

func (c *cold) Numbers(name string, v *[]uint64, most int) {
	size := func(n int) { *v = field.Made[uint64](n) }
	c.items(name, len(*v), most, size, func(w *codec, i int) { w.uint("", &(*v)[i]) })
}

func (c *cold) Record(name string, fields func(field.Coder)) {
	(*codec)(c).record(name, func(w *codec) { fields((*cold)(w)) })
}

func (c *cold) Items(name string, n, most int, size func(int), item func(field.Coder, int)) {
	c.items(name, n, most, size, func(w *codec, i int) {
		w.record("", func(w *codec) { item((*cold)(w), i) })
	})
}

// items is a list whose items are created one by one.
func (c *cold) items(name string, n, most int, size func(int), item func(*codec, int)) {
	w := (*codec)(c)
	if w.writing {
		_ = w.enc.EncodeArrayLen(n)
		outer := w.array
		for i := range n {
			item(w, i)
		}
		w.array = outer
		w.wrote(n > 0)
		return
	}
	if w.left == 0 {
		size(0)
		return
	}
	outer := w.left - 1
	count := w.arrayLen(name)
	made := min(count, max(most, mostItems))
	size(made)
	for i := range made {
		w.left = 1
		if item(w, i); w.err != nil {
			w.err.within(name + "[" + strconv.Itoa(i) + "]")
			w.left = 0
			return
		}
	}
	if w.err == nil {
		w.skip(count - made)
		w.left = outer
	}
}

func (c *cold) Reading() bool { return !c.writing }

func (c *cold) Form() field.Form { return field.Wire }

func (c *cold) Moment(name string, v *field.Timestamp) {
	shard, _ := v.Millis()
	if shard = c.number(name, shard); !c.writing {
		*v = field.At(shard, 0).Seen(c.now)
	}
}

func (c *cold) Wall(name string, v *field.Timestamp) {
	_, wall := v.Millis()
	if wall = c.number(name, wall); !c.writing && wall != 0 && v.Happened {
		v.Wall = time.UnixMilli(int64(wall))
	}
}

func (c *cold) Left(name string, v *time.Duration) bool {
	at := c.number(name, field.MillisOf(*v))
	if !c.writing {
		*v = field.Duration(at - min(at, c.now))
	}
	return at != 0
}
