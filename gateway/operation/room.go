package operation

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/internal/apijson"
)

// pageBytes is the size in JSON at which a page of a list ends.
const pageBytes = 4 << 20

// Room is the memory for an answer that is being made. Any goroutine may use it.
type Room interface {
	// Grow reserves so many more bytes, and returns false if there are none.
	Grow(bytes int) bool
	// CountItems says that the answer reserves memory for its items by itself. Before that, whatever hosts send counts,
	// because an answer that is no list keeps all of it.
	CountItems()
}

// ErrNoRoom says that the answer has no memory. The same request may succeed a moment later.
var ErrNoRoom = errors.New("no memory is left for answers")

// ErrLong ends the Follow of an operation whose answer is longer than a page: its pages can be read, and not followed.
var ErrLong = errors.New("the answer does not fit into one page")

type roomKey struct{}

// WithRoom returns a context for Operation.Run: lists are answered in pages of at most 4 MiB, in the memory of the
// room. A command has no room, and prints whole lists.
func WithRoom(ctx context.Context, r Room) context.Context {
	return context.WithValue(ctx, roomKey{}, r)
}

func roomOf(ctx context.Context) Room {
	r, _ := ctx.Value(roomKey{}).(Room)
	return r
}

// itemsRoom is roomOf for an answer that reserves memory for its items.
func itemsRoom(ctx context.Context) Room {
	r := roomOf(ctx)
	if r != nil {
		r.CountItems()
	}
	return r
}

// endless is a room for an answer that is bounded otherwise.
type endless struct{}

func (endless) Grow(int) bool { return true }
func (endless) CountItems()   {}

const (
	// itemRoom is the memory of an item for each byte of its JSON: the item, its JSON in the answer, and the shorter
	// memory that the answer has grown out of.
	itemRoom = 3
	// itemBase is the memory of an item whatever its length.
	itemBase = 256
)

// page is a page of a list that is being filled.
type page struct {
	room   Room // nil for a command
	most   int  // items
	items  int
	bytes  int
	latest []byte // the latest item in JSON
}

// fill begins a page with a number of items at most.
func fill(ctx context.Context, most int) *page { return &page{room: itemsRoom(ctx), most: most} }

// head reserves memory for data that the page has beside its items.
func (p *page) head(data []byte) error {
	if p.room == nil {
		return nil
	}
	size, err := apijson.Length(struct{ Data []byte }{data})
	if err != nil {
		return err
	}
	p.bytes += size
	if !p.room.Grow(itemRoom * size) {
		return ErrNoRoom
	}
	return nil
}

// add reports whether the page has one more item. A page has at least one, however large.
func (p *page) add(item any) (fits bool, err error) {
	if p.items == p.most {
		return false, nil
	}
	p.items++
	if p.room == nil {
		return true, nil
	}
	if p.latest, err = apijson.Append(p.latest[:0], item); err != nil {
		return false, err
	}
	size := len(p.latest)
	p.bytes += size
	switch {
	case p.bytes > pageBytes && p.items > 1:
		return false, nil
	case p.room.Grow(itemRoom*size + itemBase):
		return true, nil
	case p.items > 1:
		return false, nil // the next page has the item
	}
	return false, ErrNoRoom
}

// Paging is the end of a page, in an answer that is no List.
type Paging struct {
	More   bool   `about:"The list has more items"`
	Cursor string `about:"Cursor for the next page, if the list has more items"`
}

// Continues reports whether the list goes on behind the page.
func (p Paging) Continues() bool { return p.More }

// end ends the page behind an owner or a waiter.
func (p *Paging) end(order uint64) { p.More, p.Cursor = true, ofOrder(order).cursor() }
