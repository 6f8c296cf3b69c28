package protocol

import (
	"iter"
	"strconv"
	"sync"
)

// List is a field with many items of one type.
//
// A list is kept in wire encoding. A writer appends items: each item is encoded at once, so a writer can limit a page
// by size while building the page. A reader ranges over All: an item is decoded when the iteration reaches the item. So
// a list costs no more memory than its bytes. The limit matters because a peer chooses the bytes: a one-byte item can
// stand for a struct with a hundred bytes.
//
// The zero value is an empty list. A decoded list is a view into its frame, as are the texts and bytes in the items.
type List[T any, P item[T]] struct {
	encodedList
	// one holds the item that is written or checked: a local variable would be allocated for each list, and a frame can
	// hold a million lists.
	one T
}

// encodedList is a list in wire encoding. The compiler repeats the methods of every List, promoted ones included, in
// every package that uses messages. So code that does not depend on the item type is in functions.
type encodedList struct {
	count int
	raw   []byte
	view  bool // raw belongs to a frame
}

// encoded is an item that can write and read itself.
type encoded interface{ item(c *codec) }

// item is a pointer to a list item.
type item[T any] interface {
	*T
	encoded
}

// listCodecs are codecs for lists. A list has exclusive use of a codec during building or reading.
var listCodecs = sync.Pool{New: func() any { return newCodec() }}

// Len returns the number of items.
func (l *encodedList) Len() int {
	return l.count
}

// Size returns the number of bytes the items take in a frame.
func (l *encodedList) Size() int {
	return len(l.raw)
}

// Reset empties the list. The list keeps its memory for the next items, unless the memory is part of a frame.
func (l *encodedList) Reset() {
	l.count, l.raw = 0, l.raw[:0]
}

// Append adds an item. The item's texts and bytes are copied.
func (l *List[T, P]) Append(item T) {
	var zero T
	l.one = item
	appendItem(&l.encodedList, P(&l.one))
	l.one = zero // the garbage collector can free what the item pointed to
}

func appendItem(l *encodedList, item encoded) {
	if l.view {
		l.raw, l.view = append([]byte(nil), l.raw...), false
	}
	c := listCodecs.Get().(*codec)
	c.startWriting(l.raw)
	item.item(c)
	l.raw = c.written()
	l.count++
	listCodecs.Put(c)
}

// All returns the items in order. The list must not change meanwhile. Concurrent iteration is safe.
func (l *List[T, P]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		if l.count == 0 {
			return
		}
		var item T
		readItems(&l.encodedList, 0, P(&item), func() bool { return yield(item) })
	}
}

// readItems decodes the items one by one into the same variable until yield returns false. Timestamps are decoded
// relative to the shard time now.
func readItems(l *encodedList, now uint64, item encoded, yield func() bool) {
	c := listCodecs.Get().(*codec)
	defer func() {
		c.startReading(nil)
		listCodecs.Put(c)
	}()
	c.startReading(l.raw)
	c.now = now
	for range l.count {
		c.left = 1
		item.item(c)
		if c.err != nil {
			// Every item was checked with its frame or encoded here, so the frame has changed since.
			panic("protocol: a list was read after its frame was overwritten: " + c.err.Error())
		}
		if !yield() {
			return
		}
	}
}

// listField is a message field that holds a list. Reading checks all items, so All finds no error later.
func listField[T any, P item[T]](c *codec, field string, l *List[T, P]) {
	if c.writing {
		writeItems(c, &l.encodedList)
		return
	}
	checkItems(c, field, &l.encodedList, P(&l.one))
}

func writeItems(c *codec, l *encodedList) {
	_ = c.enc.EncodeArrayLen(l.count)
	_, _ = c.out.Write(l.raw)
	c.wrote(l.count > 0)
}

// checkItems makes a list a view into the frame, once all items were decoded without an error.
func checkItems(c *codec, field string, l *encodedList, item encoded) {
	*l = encodedList{}
	if c.left == 0 {
		return
	}
	c.left--
	outer := c.left
	count := c.arrayLen(field)
	if count == 0 {
		return
	}
	start := c.off
	for i := range count {
		c.left = 1
		item.item(c)
		if c.err != nil {
			c.err.within(field + "[" + strconv.Itoa(i) + "]")
			c.left = 0
			return
		}
	}
	c.left = outer
	l.count, l.view = count, true
	l.raw = c.in[start:c.off:c.off]
}
