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
	items List[viewItem[T, P], *viewItem[T, P]]
}

// viewed is the constraint for a pointer to a list value.
type viewed[T any] interface {
	*T
	field.Value
}

// viewItem is a value as a List item.
type viewItem[T any, P viewed[T]] struct{ value T }

func (i *viewItem[T, P]) item(c *codec) { c.value("", P(&i.value)) }

// list is the message field that holds the list.
func (v *Views[T, P]) list(c *codec, name string) { v.items.list(c, name) }

// Len returns the number of values.
func (v *Views[T, P]) Len() int { return v.items.Len() }

// Size returns how many bytes the values take in a frame.
func (v *Views[T, P]) Size() int { return v.items.Size() }

// Append adds a value, without keeping a reference to it.
func (v *Views[T, P]) Append(value T) { v.items.Append(viewItem[T, P]{value}) }

// All returns the values in order, relative to a shard time in milliseconds. The list must not change meanwhile.
func (v *Views[T, P]) All(now uint64) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range v.items.at(now) {
			if !yield(i.value) {
				return
			}
		}
	}
}
