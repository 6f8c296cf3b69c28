package protocol

import (
	"iter"

	"github.com/signalbox/signalbox/protocol/field"
)

// AppendRecord appends an overview or a row of a view.
func AppendRecord(dst []byte, v field.Value) []byte {
	c := listCodecs.Get().(*codec)
	defer listCodecs.Put(c)
	c.startWriting(dst)
	c.value("", v)
	return c.written()
}

// ReadRecord reads an overview or a row that is all of src, as the record looks at a time of the shard in milliseconds:
// the time counts for how long ago a moment is, and for how much time is left. A reader that does not look at times may
// give 0. The bytes of a record of a room below are a copy; those of a record of this package are a view into src.
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

// Views is a List of values of a room below. The values are made while a reader ranges over All: a page of a list may
// have more of them than an eager list of the field package makes.
type Views[T any, P viewed[T]] struct {
	items List[viewItem[T, P], *viewItem[T, P]]
}

// viewed is what a pointer to a value of a list can do.
type viewed[T any] interface {
	*T
	field.Value
}

// viewItem is a value as an item of a List.
type viewItem[T any, P viewed[T]] struct{ value T }

func (i *viewItem[T, P]) item(c *codec) { c.value("", P(&i.value)) }

// list is the field of a message that holds the list.
func (v *Views[T, P]) list(c *codec, name string) { v.items.list(c, name) }

// Len returns the number of values.
func (v *Views[T, P]) Len() int { return v.items.Len() }

// Size returns the number of bytes that the values take in a frame.
func (v *Views[T, P]) Size() int { return v.items.Size() }

// Append adds a value, and keeps nothing of it.
func (v *Views[T, P]) Append(value T) { v.items.Append(viewItem[T, P]{value}) }

// All returns the values in order, as they look at a time of the shard in milliseconds. The list must not change
// meanwhile.
func (v *Views[T, P]) All(now uint64) iter.Seq[T] {
	return func(yield func(T) bool) {
		for i := range v.items.at(now) {
			if !yield(i.value) {
				return
			}
		}
	}
}
