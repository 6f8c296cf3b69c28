// Package heap is a binary heap whose items know their index, so each item can be removed or moved.
package heap

// Order defines the order in a heap and stores each item's index.
type Order[T any] interface {
	Before(a, b T) bool
	Placed(x T, at int)
}

// Heap is a heap with an order. Other packages only read Items.
type Heap[T any, O Order[T]] struct {
	Items []T
	By    O // set before the first Push, unless the zero value is an order
}

// First returns the first item; the heap must not be empty.
func (h *Heap[T, O]) First() T { return h.Items[0] }

// Push adds an item.
func (h *Heap[T, O]) Push(x T) {
	h.Items = append(h.Items, x)
	h.up(len(h.Items)-1, x)
}

// Remove removes the item at a place.
func (h *Heap[T, O]) Remove(at int) {
	last := len(h.Items) - 1
	x := h.Items[last]
	var zero T
	h.Items[last] = zero
	h.Items = h.Items[:last]
	if at < last {
		h.place(at, x)
	}
}

// Fix moves an item whose order has changed.
func (h *Heap[T, O]) Fix(at int) { h.place(at, h.Items[at]) }

// place finds the index for x, starting at a gap.
func (h *Heap[T, O]) place(gap int, x T) {
	if gap > 0 && h.By.Before(x, h.Items[(gap-1)/2]) {
		h.up(gap, x)
	} else {
		h.down(gap, x)
	}
}

func (h *Heap[T, O]) up(gap int, x T) {
	for gap > 0 {
		parent := (gap - 1) / 2
		if !h.By.Before(x, h.Items[parent]) {
			break
		}
		h.put(gap, h.Items[parent])
		gap = parent
	}
	h.put(gap, x)
}

func (h *Heap[T, O]) down(gap int, x T) {
	for {
		child := 2*gap + 1
		if child >= len(h.Items) {
			break
		}
		if right := child + 1; right < len(h.Items) && h.By.Before(h.Items[right], h.Items[child]) {
			child = right
		}
		if !h.By.Before(h.Items[child], x) {
			break
		}
		h.put(gap, h.Items[child])
		gap = child
	}
	h.put(gap, x)
}

func (h *Heap[T, O]) put(at int, x T) {
	h.Items[at] = x
	h.By.Placed(x, at)
}
