package view

import (
	"bytes"
	"cmp"
	"iter"
	"slices"
)

// Owner is a session that owns some of a semaphore. Its data is shared and must not be changed.
type Owner struct {
	OrderID   uint64
	SessionID uint64
	Count     uint64
	Data      []byte
}

func (o *Owner) equal(p *Owner) bool {
	return o.OrderID == p.OrderID && o.SessionID == p.SessionID && o.Count == p.Count && bytes.Equal(o.Data, p.Data)
}

// Owners is a list of owners ordered by order id. It never changes: a change makes another one, which shares
// all but the few pieces that differ. So a view of many owners costs nothing to keep, a change of one owner
// costs as much as one piece, and two lists are compared by the pieces that differ.
type Owners struct {
	pieces []*piece
	count  int
}

// piece is a run of owners, never empty and never changed.
type piece struct{ owners []Owner }

// maxPiece is the most owners in a piece. Neighbours that fit into half of it together become one.
const maxPiece = 128

func (p *piece) last() uint64 { return p.owners[len(p.owners)-1].OrderID }

// ownersOf cuts a list that is ordered by order id into pieces.
func ownersOf(owners []Owner) Owners {
	var r Owners
	r.add(owners)
	return r
}

// add appends owners behind all others, to a list in the making.
func (o *Owners) add(owners []Owner) {
	o.count += len(owners)
	for len(owners) > 0 {
		n := len(owners)
		if n > maxPiece {
			n = maxPiece / 2
		}
		o.pieces = append(o.pieces, &piece{owners[:n:n]})
		owners = owners[n:]
	}
}

// Len returns how many owners there are.
func (o Owners) Len() int { return o.count }

// First returns the owner that joined first.
func (o Owners) First() (Owner, bool) {
	if o.count == 0 {
		return Owner{}, false
	}
	return o.pieces[0].owners[0], true
}

// All returns the owners in order.
func (o Owners) All() iter.Seq[Owner] {
	return func(yield func(Owner) bool) {
		for _, p := range o.pieces {
			for i := range p.owners {
				if !yield(p.owners[i]) {
					return
				}
			}
		}
	}
}

// Find returns the owner of an order id.
func (o Owners) Find(order uint64) (Owner, bool) {
	i, _ := slices.BinarySearchFunc(o.pieces, order, func(p *piece, order uint64) int {
		return cmp.Compare(p.last(), order)
	})
	if i == len(o.pieces) {
		return Owner{}, false
	}
	owners := o.pieces[i].owners
	j, ok := slices.BinarySearchFunc(owners, order, func(o Owner, order uint64) int {
		return cmp.Compare(o.OrderID, order)
	})
	if !ok {
		return Owner{}, false
	}
	return owners[j], true
}

// edit is an owner that joined or changed, or one that is gone.
type edit struct {
	owner Owner
	gone  bool
}

// with returns the list after some owners have gone and some have joined, or changed.
func (o Owners) with(gone []uint64, joined []Owner) Owners {
	edits := make([]edit, 0, len(gone)+len(joined))
	for _, order := range gone {
		edits = append(edits, edit{owner: Owner{OrderID: order}, gone: true})
	}
	for _, o := range joined {
		edits = append(edits, edit{owner: o})
	}
	// An owner that is gone and joined too has joined: the sort keeps that order.
	slices.SortStableFunc(edits, func(a, b edit) int { return cmp.Compare(a.owner.OrderID, b.owner.OrderID) })
	next := Owners{pieces: make([]*piece, 0, len(o.pieces)+1+len(joined)/maxPiece)}
	for i, p := range o.pieces {
		n := len(edits)
		if i < len(o.pieces)-1 {
			n, _ = slices.BinarySearchFunc(edits, p.last(), func(e edit, last uint64) int {
				if e.owner.OrderID <= last {
					return -1
				}
				return 1
			})
		}
		if n == 0 {
			next.put(p)
			continue
		}
		for _, q := range ownersOf(p.with(edits[:n])).pieces {
			next.put(q)
		}
		edits = edits[n:]
	}
	if len(o.pieces) == 0 {
		next.add(new(piece).with(edits))
	}
	return next
}

// put appends a piece, or joins it with the one before where both are small.
func (o *Owners) put(p *piece) {
	o.count += len(p.owners)
	if n := len(o.pieces); n > 0 {
		if q := o.pieces[n-1]; len(q.owners)+len(p.owners) <= maxPiece/2 {
			o.pieces[n-1] = &piece{slices.Concat(q.owners, p.owners)}
			return
		}
	}
	o.pieces = append(o.pieces, p)
}

// with returns the owners of a piece after edits, which are in order.
func (p *piece) with(edits []edit) []Owner {
	out := make([]Owner, 0, len(p.owners)+len(edits))
	rest := p.owners
	for i, e := range edits {
		order := e.owner.OrderID
		for len(rest) > 0 && rest[0].OrderID < order {
			out = append(out, rest[0])
			rest = rest[1:]
		}
		if len(rest) > 0 && rest[0].OrderID == order {
			rest = rest[1:]
		}
		if e.gone || i+1 < len(edits) && edits[i+1].owner.OrderID == order {
			continue
		}
		out = append(out, e.owner)
	}
	return append(out, rest...)
}

// Difference calls back for every owner in which two lists differ, in order: one of the two is nil where
// the owner is in one of them only. It passes over what they share.
func Difference(a, b Owners, f func(before, after *Owner)) {
	i, j, x, y := 0, 0, 0, 0 // pieces, and places in them
	for i < len(a.pieces) || j < len(b.pieces) {
		switch {
		case i < len(a.pieces) && j < len(b.pieces) && x == 0 && y == 0 && a.pieces[i] == b.pieces[j]:
			i, j = i+1, j+1
			continue
		case j == len(b.pieces) || i < len(a.pieces) && a.pieces[i].owners[x].OrderID < b.pieces[j].owners[y].OrderID:
			f(&a.pieces[i].owners[x], nil)
			x++
		case i == len(a.pieces) || a.pieces[i].owners[x].OrderID > b.pieces[j].owners[y].OrderID:
			f(nil, &b.pieces[j].owners[y])
			y++
		default:
			if p, q := &a.pieces[i].owners[x], &b.pieces[j].owners[y]; !p.equal(q) {
				f(p, q)
			}
			x, y = x+1, y+1
		}
		if i < len(a.pieces) && x == len(a.pieces[i].owners) {
			i, x = i+1, 0
		}
		if j < len(b.pieces) && y == len(b.pieces[j].owners) {
			j, y = j+1, 0
		}
	}
}
