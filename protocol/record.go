package protocol

import (
	"iter"

	"github.com/signalbox/signalbox/protocol/field"
)

// AppendRecord appends a view's overview or row.
func AppendRecord(dst []byte, v field.Value) []byte {
	c := listCodecs.Get().(*codec)
	defer listCodecs.Put(c)
	c.startWriting(dst)
	c.value("", v)
	return c.written()
}

// ReadRecord reads an overview or a row, which must be all of src, relative to a shard time in milliseconds: the shard
// time determines ages and remaining times. A reader that ignores times may pass 0. For a record from a package below,
// the bytes are copied; for a record in this package they are a view into src.
func ReadRecord(src []byte, v field.Value, now uint64) error {
	c := listCodecs.Get().(*codec)
	defer func() {
		c.startReading(nil)
		listCodecs.Put(c)
	}()
	c.startReading(src)
	c.left, c.now = 1, now
	c.value("", v)
	if c.err == nil && c.rest() > 0 {
		c.fail("", "bytes stand behind the record")
	}
	if c.err != nil {
		return c.err
	}
	return nil
}

// Views is a List of values from a package below. The values are created while a reader ranges over All: a list page
// may have more values than an eager list in the field package creates.
type Views[T any, P viewed[T]] struct {
	encodedList
	one T // the value that is written or checked
}

// viewed is the constraint for a pointer to a list value.
type viewed[T any] interface {
	*T
	field.Value
}

// view is a value as a list item.
type view struct{ value field.Value }

func (v view) item(c *codec) { c.value("", v.value) }

// viewsField is a message field that holds Views.
func viewsField[T any, P viewed[T]](c *codec, field string, v *Views[T, P]) {
	if c.writing {
		writeItems(c, &v.encodedList)
		return
	}
	checkItems(c, field, &v.encodedList, view{P(&v.one)})
}

// Append adds a value, without keeping a reference to it.
func (v *Views[T, P]) Append(value T) {
	var zero T
	v.one = value
	appendItem(&v.encodedList, view{P(&v.one)})
	v.one = zero
}

// All returns the values in order, relative to a shard time in milliseconds. The list must not change meanwhile.
func (v *Views[T, P]) All(now uint64) iter.Seq[T] {
	return func(yield func(T) bool) {
		if v.count == 0 {
			return
		}
		var value T
		readItems(&v.encodedList, now, view{P(&value)}, func() bool { return yield(value) })
	}
}
