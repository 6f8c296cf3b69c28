package hub

import "container/heap"

// ordered is a heap of things that know their place in it, so that any of them can be taken out.
type ordered[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(T) *int // where the thing keeps its place, counted from 1; 0: it is not in
}

// first returns the thing that is before all others; there must be one.
func (o *ordered[T]) first() T { return o.items[0] }

func (o *ordered[T]) add(x T) { heap.Push((*heaped[T])(o), x) }

// remove takes a thing out, if it is in.
func (o *ordered[T]) remove(x T) {
	if at := *o.place(x); at > 0 {
		heap.Remove((*heaped[T])(o), at-1)
	}
}

// heaped is ordered as container/heap wants to see it.
type heaped[T any] ordered[T]

func (h *heaped[T]) Len() int           { return len(h.items) }
func (h *heaped[T]) Less(i, j int) bool { return h.before(h.items[i], h.items[j]) }

func (h *heaped[T]) Swap(i, j int) {
	h.items[i], h.items[j] = h.items[j], h.items[i]
	*h.place(h.items[i]), *h.place(h.items[j]) = i+1, j+1
}

func (h *heaped[T]) Push(x any) {
	h.items = append(h.items, x.(T))
	*h.place(x.(T)) = len(h.items)
}

func (h *heaped[T]) Pop() any {
	last := len(h.items) - 1
	x := h.items[last]
	var none T
	h.items[last] = none
	h.items = h.items[:last]
	*h.place(x) = 0
	return x
}
