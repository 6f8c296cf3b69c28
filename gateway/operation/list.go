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

// List is the answer of an operation that lists something.
type List[T any] struct {
	Items  []T
	More   bool   `about:"The list has more items"`
	Cursor string `about:"Cursor for the next page, if the list has more items and the route has pages"`
}

// Page says which part of a list is wanted.
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

// whole reports whether all items are wanted: a command without a limit prints them all.
func (p *Page) whole(ctx context.Context) bool { return *p == Page{} && roomOf(ctx) == nil }

// bounded is the limit of a list: the usual limit unless the request says a limit, and never more than most.
func bounded(limit, usual, most int) int {
	if limit <= 0 {
		return usual
	}
	return min(limit, most)
}

func (p *Page) page() *Page { return p }

// place is where an item stands in a list over nodes: lists go by node, and in a node by the client's order.
type place struct{ node, name string }

// cursor writes the place for the caller, who reads nothing from the text.
func (p place) cursor() string {
	return base64.RawURLEncoding.EncodeToString([]byte(p.node + "\x00" + p.name))
}

// ofOrder is the place of an owner or a waiter of a semaphore.
func ofOrder(id uint64) place { return place{name: strconv.FormatUint(id, 10)} }

// behindOrder returns the order id behind which the page begins, 0 for the begin of the list.
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

// errCursor refuses a cursor that no answer had.
const errCursor = BadRequest("the cursor was not returned by the API")

// behind returns the place behind which the page begins; the zero place is the begin of the list.
func (p *Page) behind() (place, error) {
	text, err := base64.RawURLEncoding.DecodeString(p.Cursor)
	node, name, ok := strings.Cut(string(text), "\x00")
	if err != nil || p.Cursor != "" && !ok {
		return place{}, errCursor
	}
	return place{node, name}, nil
}

// collect makes a page of the first items of a loop. at says where an item stands; nil for a list without a cursor.
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

// pages makes the row of an operation that lists items of type T. Over HTTP a request gets a page, a command all pages.
// each lists the items behind a place, and at is the place of an item.
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

// overNodes makes the row of an operation that lists what a node has, or, without a node in the request, what all nodes
// have. each lists the items of a node behind a name, and name is the name of an item.
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

// EachNode lists the items of all nodes, in the order of the paths. The list begins behind the item of a name in the
// node of a path; empty texts begin at the first item. A node that is dropped meanwhile has no items, and neither has a
// node that the caller may not read.
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

// inNode adds the path of a node to the items of a loop.
func inNode[T any](node string, loop iter.Seq2[T, error]) iter.Seq2[apijson.InNode[T], error] {
	return Changed(loop, func(item T) apijson.InNode[T] { return apijson.InNode[T]{Node: node, Item: item} })
}

// Changed changes the items of a loop.
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

// flat makes a loop of the items of parts.
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

// kept leaves items out of a loop.
func kept[T any](loop iter.Seq2[T, error], keep func(T) bool) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range loop {
			if (err != nil || keep(item)) && !yield(item, err) || err != nil {
				return
			}
		}
	}
}

// ready makes a loop of items that are there.
func ready[T any](items []T) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, item := range items {
			if !yield(item, nil) {
				return
			}
		}
	}
}

// listed makes a list of what a function of the client returns, as far as a page has room for it.
func listed[T any](ctx context.Context, items []T, err error) (List[T], error) {
	if err != nil {
		return List[T]{}, err
	}
	return collect(ctx, ready(items), len(items), nil)
}
