package operation

import (
	"context"
	"encoding/base64"
	"errors"
	"iter"
	"strconv"
	"strings"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/internal/apijson"
	"github.com/signalbox/signalbox/protocol"
)

const (
	// defaultPage is how many items a page has unless the request says a limit, and maxPage the highest limit. A page
	// ends earlier at pageBytes.
	defaultPage = 1000
	maxPage     = 10_000
)

// List is a list operation's response.
type List[T any] struct {
	Items  []T
	More   bool   `about:"The list has more items"`
	Cursor string `about:"Cursor for the next page, if the list has more items and the route has pages"`
}

// Page selects a section of a list.
type Page struct {
	Limit  int    `about:"Maximum items, up to 10000. Default: 1000. A page ends at 4 MiB"`
	Cursor string `about:"Cursor from the page before"`
}

// Paged is Page with a prefix.
type Paged struct {
	Prefix string `about:"Only names with this prefix"`
	Page
}

// Size is how many items the page has at the most.
func (p *Page) Size() int { return bounded(p.Limit, defaultPage, maxPage) }

// whole reports whether all items are wanted: a command without a limit prints all items.
func (p *Page) whole(ctx context.Context) bool { return *p == Page{} && roomOf(ctx) == nil }

// bounded returns a list's limit: the usual limit unless the request sets a limit, and at most most.
func bounded(limit, usual, most int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, most)
}

func (p *Page) page() *Page { return p }

// place is where an item stands in a list over nodes: lists go by node, and in a node by the client's order.
type place struct{ node, name string }

// cursor encodes the position as an opaque text for the caller.
func (p place) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.node + "\x00" + p.name))
}

// ofOrder returns a semaphore owner's or waiter's position.
func ofOrder(id uint64) place { return place{name: strconv.FormatUint(id, 10)} }

// behindOrder returns the order id after which the page starts, or 0 for the start.
func (p *Page) behindOrder() (uint64, error) {
	at, err := p.behind()
	if err != nil || at.name == "" {
		return 0, err
	}
	id, err := strconv.ParseUint(at.name, 10, 64)
	if err != nil {
		return 0, errCursor
	}
	return id, nil
}

// errCursor rejects a cursor that no response contained.
const errCursor = BadRequest("the cursor was not returned by the API")

// behind returns the position after which the page starts; zero is the start.
func (p *Page) behind() (place, error) {
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	node, name, ok := strings.Cut(string(text), "\x00")
	if err != nil || p.Cursor != "" && !ok {
		return place{}, errCursor
	}
	return place{node, name}, nil
}

// collect creates a page from a loop's first items. at returns an item's position; nil for a list without a cursor.
func collect[T any](
	ctx context.Context, loop iter.Seq2[T, error], limit int, at func(T) place,
) (l List[T], err error) {
	l.Items = []T{}
	p := fill(ctx, limit)
	for item, err := range loop {
		if err != nil {
			return l, err
		}
		fits, err := p.add(item)
		if err != nil {
			return l, err
		}
		if !fits {
			l.More = true
			if at != nil {
				l.Cursor = at(l.Items[len(l.Items)-1]).cursor()
			}
			break
		}
		l.Items = append(l.Items, item)
	}
	return l, nil
}

// pages creates the row for an operation that lists items with type T. An HTTP request gets a page, a command all
// pages. each lists the items after a position, and at returns an item's position.
func pages[Q, T any](
	path string, kind protocol.Kind, does string,
	each func(ctx context.Context, c *client.Client, q *Q, behind place) iter.Seq2[T, error], at func(item T) place,
	faces ...Face,
) Operation {
	o := read(path, kind, does, func(ctx context.Context, c *client.Client, q *Q) (List[T], error) {
		p := any(q).(interface{ page() *Page }).page()
		behind, err := p.behind()
		if err != nil {
			return List[T]{}, err
		}
		return collect(ctx, each(ctx, c, q, behind), p.Size(), at)
	}, faces...)
	o.All = func(ctx context.Context, c *client.Client, request any) iter.Seq2[any, error] {
		return Changed(each(ctx, c, request.(*Q), place{}), anyOf)
	}
	return o
}

// overNodes creates the row for an operation that lists one node's items or, without a node in the request, all nodes'
// items. each lists a node's items after a name, and name returns an item's name.
func overNodes[Q, T any](
	path string, kind protocol.Kind, does string,
	each func(ctx context.Context, c *client.Client, q *Q, node, after string) iter.Seq2[T, error],
	name func(item T) string, faces ...Face,
) Operation {
	return pages(path, kind, does,
		func(ctx context.Context, c *client.Client, q *Q, behind place) iter.Seq2[apijson.InNode[T], error] {
			of := func(node, after string) iter.Seq2[T, error] { return each(ctx, c, q, node, after) }
			if node := any(q).(interface{ node() string }).node(); node != "" {
				return inNode(node, of(node, behind.name))
			}
			return EachNode(ctx, c, behind.node, behind.name, of)
		},
		func(item apijson.InNode[T]) place { return place{item.Node, name(item.Item)} }, faces...)
}

// EachNode lists the items in all nodes, sorted by path. The list starts after the named item in the node at path;
// empty texts start at the first item. Nodes that are dropped meanwhile or that the caller may not read are skipped.
func EachNode[T any](
	ctx context.Context, c *client.Client, from, after string, of func(node, after string) iter.Seq2[T, error],
) iter.Seq2[apijson.InNode[T], error] {
	return func(yield func(apijson.InNode[T], error) bool) {
		for node, err := range c.ListNodes(ctx, "") {
			if err != nil {
				yield(apijson.InNode[T]{}, err)
				return
			}
			behind := ""
			switch {
			case node.Path < from:
				continue
			case node.Path == from:
				behind = after
			}
			for item, err := range inNode(node.Path, of(node.Path, behind)) {
				if errors.Is(err, client.ErrNodeNotFound) || errors.Is(err, client.ErrUnauthorized) {
					break
				}
				if !yield(item, err) || err != nil {
					return
				}
			}
		}
	}
}

// inNode adds a node path to a loop's items.
func inNode[T any](node string, loop iter.Seq2[T, error]) iter.Seq2[apijson.InNode[T], error] {
	return Changed(loop, func(item T) apijson.InNode[T] { return apijson.InNode[T]{Node: node, Item: item} })
}

// Changed maps a loop's items.
func Changed[S, T any](loop iter.Seq2[S, error], change func(S) T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range loop {
			if err != nil {
				var nothing T
				yield(nothing, err)
				return
			}
			if !yield(change(item), nil) {
				return
			}
		}
	}
}

func anyOf[T any](item T) any { return item }

// flat loops over the items in parts.
func flat[P, T any](parts iter.Seq2[P, error], items func(P) []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for part, err := range parts {
			if err != nil {
				var nothing T
				yield(nothing, err)
				return
			}
			for _, item := range items(part) {
				if !yield(item, nil) {
					return
				}
			}
		}
	}
}

// kept filters a loop's items.
func kept[T any](loop iter.Seq2[T, error], keep func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range loop {
			if (err != nil || keep(item)) && !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// ready loops over existing items.
func ready[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// listed creates a list from a client function's result, as many items as fit in a page.
func listed[T any](ctx context.Context, items []T, err error) (List[T], error) {
	if err != nil {
		return List[T]{}, err
	}
	return collect(ctx, ready(items), len(items), nil)
}
