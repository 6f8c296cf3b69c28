package lease

// order says how the items of a heap are ordered, and keeps the place of each item.
type order[T any] interface {
	before(a, b T) bool
	placed(x T, at int)
}

// heap is a binary heap whose items know their places, so that each item can be removed or moved.
type heap[T any, O order[T]] struct {
	items []T
}

// first returns the first item; the heap must not be empty.
func (h *heap[T, O]) first() T { return h.items[0] }

func (h *heap[T, O]) push(x T) {
	h.items = append(h.items, x)
	h.up(len(h.items)-1, x)
}

// remove removes the item at a place.
func (h *heap[T, O]) remove(at int) {
	last := len(h.items) - 1
	x := h.items[last]
	var zero T
	h.items[last] = zero
	h.items = h.items[:last]
	if at < last {
		h.place(at, x)
	}
}

// fix moves an item whose order has changed to its new place.
func (h *heap[T, O]) fix(at int) { h.place(at, h.items[at]) }

// place finds the place of x, starting at a gap.
func (h *heap[T, O]) place(gap int, x T) {
	var o O
	if gap > 0 && o.before(x, h.items[(gap-1)/2]) {
		h.up(gap, x)
	} else {
		h.down(gap, x)
	}
}

func (h *heap[T, O]) up(gap int, x T) {
	var o O
	for gap > 0 {
		parent := (gap - 1) / 2
		if !o.before(x, h.items[parent]) {
			break
		}
		h.put(gap, h.items[parent])
		gap = parent
	}
	h.put(gap, x)
}

func (h *heap[T, O]) down(gap int, x T) {
	var o O
	for {
		child := 2*gap + 1
		if child >= len(h.items) {
			break
		}
		if right := child + 1; right < len(h.items) && o.before(h.items[right], h.items[child]) {
			child = right
		}
		if !o.before(h.items[child], x) {
			break
		}
		h.put(gap, h.items[child])
		gap = child
	}
	h.put(gap, x)
}

func (h *heap[T, O]) put(at int, x T) {
	var o O
	h.items[at] = x
	o.placed(x, at)
}
