package operation

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/internal/apijson"
)

// pageBytes is the JSON size at which a list's page ends.
const pageBytes = 4 << 20

// Room is the memory for a response under construction. Safe for concurrent use.
type Room interface {
	// Grow reserves more bytes, and returns false if there are none.
	Grow(bytes int) bool
	// CountItems declares that the response reserves memory for its own items. Before, all received data counts,
	// because a response that is not a list keeps everything.
	CountItems()
}

// ErrNoRoom means that there is no memory for the response. The same request may succeed a moment later.
var ErrNoRoom = errors.New("no memory is left for answers")

// ErrLong ends the Follow of an operation whose response is longer than a page: its pages can be read but not followed.
var ErrLong = errors.New("the answer does not fit into one page")

type roomKey struct{}

// WithRoom returns a context for Operation.Run: lists are returned in pages with at most 4 MiB, in the room's memory. A
// command has no room, and prints whole lists.
func WithRoom(ctx context.Context, r Room) context.Context {
	return context.WithValue(ctx, roomKey{}, r)
}

func roomOf(ctx context.Context) Room {
	r, _ := ctx.Value(roomKey{}).(Room)
	return r
}

// itemsRoom is roomOf for a response that reserves memory for its items.
func itemsRoom(ctx context.Context) Room {
	r := roomOf(ctx)
	if r != nil {
		r.CountItems()
	}
	return r
}

// endless is a room for a response that is bounded otherwise.
type endless struct{}

func (endless) Grow(int) bool { return true }
func (endless) CountItems()   {}

const (
	// itemRoom is an item's memory per JSON byte: the item, its JSON in the response, and the smaller buffer that the
	// response has outgrown.
	itemRoom = 3
	// itemBase is an item's fixed memory.
	itemBase = 256
)

// page is a list page being filled.
type page struct {
	room   Room // nil for a command
	most   int  // items
	items  int
	bytes  int
	latest []byte // the latest item in JSON
}

// fill starts a page with a maximum number of items.
func fill(ctx context.Context, most int) *page { return &page{room: itemsRoom(ctx), most: most} }

// head reserves memory for a page's data besides its items.
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

// add reports whether one more item fits. A page has at least one item, however large.
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

// Paging is a page's end in a response that is not a List.
type Paging struct {
	More   bool   `about:"The list has more items"`
	Cursor string `about:"Cursor for the next page, if the list has more items"`
}

// Continues reports whether the list goes on behind the page.
func (p Paging) Continues() bool { return p.More }

// end ends the page behind an owner or a waiter.
func (p *Paging) end(order uint64) { p.More, p.Cursor = true, ofOrder(order).cursor() }
