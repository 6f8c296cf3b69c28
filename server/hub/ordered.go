package hub

import "container/heap"

// ordered is a heap of items that know their place in the heap, so that every item can be taken out.
type ordered[T any] struct {
	items  []T
	before func(a, b T) bool
	place  func(T) *int // where an item keeps its place, from 1; 0: not in the heap
}

// first returns the item at the top; the heap must not be empty.
func (o *ordered[T]) first() T { return o.items[0] }

func (o *ordered[T]) add(x T) { heap.Push((*heaped[T])(o), x) }

// remove takes an item out, if it is in the heap.
func (o *ordered[T]) remove(x T) {
	if at := *o.place(x); at > 0 {
		heap.Remove((*heaped[T])(o), at-1)
	}
}

// heaped is the heap with the methods for container/heap.
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
