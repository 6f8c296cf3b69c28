package view

import (
	"cmp"
	"iter"
	"slices"
)

// List has an object's owners or rows, sorted by id. A List never changes: an edit creates a new List that shares all
// pieces except the few that differ. So keeping a view with many owners is free, changing one owner costs one piece,
// and comparing two lists only visits pieces that differ.
type List[T any, P element[T]] struct {
	pieces []*piece[T, P]
	count  int
}

// element is the method set for a pointer to a list element.
type element[T any] interface {
	*T
	id() uint64
	equal(*T) bool
}

// Owners has a semaphore's owners by order id, Rows the rows for other object kinds.
type (
	Owners = List[Owner, *Owner]
	Rows   = List[Row, *Row]
)

// piece is a run of elements, never empty and never changed.
type piece[T any, P element[T]] struct{ list []T }

// maxPiece is the maximum number of elements per piece. Neighbours that together fit into half are merged.
const maxPiece = 128

func (p *piece[T, P]) last() uint64 { return P(&p.list[len(p.list)-1]).id() }

// listOf cuts a list sorted by id into pieces.
func listOf[T any, P element[T]](list []T) List[T, P] {
	var l List[T, P]
	l.add(list)
	return l
}

// add appends elements to a list under construction.
func (l *List[T, P]) add(list []T) {
	l.count += len(list)
	for len(list) > 0 {
		n := len(list)
		if n > maxPiece {
			n = maxPiece / 2
		}
		l.pieces = append(l.pieces, &piece[T, P]{list[:n:n]})
		list = list[n:]
	}
}

// Len returns the number of elements.
func (l List[T, P]) Len() int { return l.count }

// First returns the element with the lowest id. For owners, this is the owner that joined first.
func (l List[T, P]) First() (first T, ok bool) {
	if l.count == 0 {
		return first, false
	}
	return l.pieces[0].list[0], true
}

// All returns all elements in order.
func (l List[T, P]) All() iter.Seq[T] {
	return func(yield func(T) bool) {
		for _, p := range l.pieces {
			for i := range p.list {
				if !yield(p.list[i]) {
					return
				}
			}
		}
	}
}

// Find returns the element with the given id.
func (l List[T, P]) Find(id uint64) (found T, ok bool) {
	i, _ := slices.BinarySearchFunc(l.pieces, id, func(p *piece[T, P], id uint64) int {
		return cmp.Compare(p.last(), id)
	})
	if i == len(l.pieces) {
		return found, false
	}
	list := l.pieces[i].list
	j, ok := slices.BinarySearchFunc(list, id, func(x T, id uint64) int { return cmp.Compare(P(&x).id(), id) })
	if !ok {
		return found, false
	}
	return list[j], true
}

// edit is an element that was added, changed or removed.
type edit[T any, P element[T]] struct {
	id   uint64
	is   T
	gone bool
}

// with returns the list after some elements have gone and some have come, or changed.
func (l List[T, P]) with(gone []uint64, came []T) List[T, P] {
	edits := make([]edit[T, P], 0, len(gone)+len(came))
	for _, id := range gone {
		edits = append(edits, edit[T, P]{id: id, gone: true})
	}
	for i := range came {
		edits = append(edits, edit[T, P]{id: P(&came[i]).id(), is: came[i]})
	}
	// An element that was both removed and added counts as added: the sort keeps the two edits in order.
	slices.SortStableFunc(edits, func(a, b edit[T, P]) int { return cmp.Compare(a.id, b.id) })
	next := List[T, P]{pieces: make([]*piece[T, P], 0, len(l.pieces)+1+len(came)/maxPiece)}
	for i, p := range l.pieces {
		n := len(edits)
		if i < len(l.pieces)-1 {
			n, _ = slices.BinarySearchFunc(edits, p.last(), func(e edit[T, P], last uint64) int {
				if e.id <= last {
					return -1
				}
				return 1
			})
		}
		if n == 0 {
			next.put(p)
			continue
		}
		for _, q := range listOf[T, P](p.with(edits[:n])).pieces {
			next.put(q)
		}
		edits = edits[n:]
	}
	if len(l.pieces) == 0 {
		next.add(new(piece[T, P]).with(edits))
	}
	return next
}

// put appends a piece, or joins the piece with the last piece if both are small.
func (l *List[T, P]) put(p *piece[T, P]) {
	l.count += len(p.list)
	if n := len(l.pieces); n > 0 {
		if q := l.pieces[n-1]; len(q.list)+len(p.list) <= maxPiece/2 {
			l.pieces[n-1] = &piece[T, P]{slices.Concat(q.list, p.list)}
			return
		}
	}
	l.pieces = append(l.pieces, p)
}

// with returns a piece's elements after edits, which are sorted.
func (p *piece[T, P]) with(edits []edit[T, P]) []T {
	out := make([]T, 0, len(p.list)+len(edits))
	rest := p.list
	for i := range edits {
		id := edits[i].id
		for len(rest) > 0 && P(&rest[0]).id() < id {
			out = append(out, rest[0])
			rest = rest[1:]
		}
		if len(rest) > 0 && P(&rest[0]).id() == id {
			rest = rest[1:]
		}
		if edits[i].gone || i+1 < len(edits) && edits[i+1].id == id {
			continue
		}
		out = append(out, edits[i].is)
	}
	return append(out, rest...)
}

// Difference calls f, in order, for every element that differs between two lists: before or after is nil for an element
// in only one list. Difference skips shared pieces.
func Difference[T any, P element[T]](a, b List[T, P], f func(before, after *T)) {
	i, j, x, y := 0, 0, 0, 0 // pieces, and places within
	id := func(p *piece[T, P], at int) uint64 { return P(&p.list[at]).id() }
	for i < len(a.pieces) || j < len(b.pieces) {
		switch {
		case i < len(a.pieces) && j < len(b.pieces) && x == 0 && y == 0 && a.pieces[i] == b.pieces[j]:
			i, j = i+1, j+1
			continue
		case j == len(b.pieces) || i < len(a.pieces) && id(a.pieces[i], x) < id(b.pieces[j], y):
			f(&a.pieces[i].list[x], nil)
			x++
		case i == len(a.pieces) || id(a.pieces[i], x) > id(b.pieces[j], y):
			f(nil, &b.pieces[j].list[y])
			y++
		default:
			if p, q := &a.pieces[i].list[x], &b.pieces[j].list[y]; !P(p).equal(q) {
				f(p, q)
			}
			x, y = x+1, y+1
		}
		if i < len(a.pieces) && x == len(a.pieces[i].list) {
			i, x = i+1, 0
		}
		if j < len(b.pieces) && y == len(b.pieces[j].list) {
			j, y = j+1, 0
		}
	}
}
