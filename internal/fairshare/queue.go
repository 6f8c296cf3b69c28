package fairshare

import "container/list"

// Queue is a queue in which parties take turns: parties with and without a token alternate, then tokens, then
// addresses. A party's items keep their order. The zero Queue is empty. A Queue must be guarded by its user's lock.
type Queue[T any] struct {
	order list.List // elements are *Place[T] or *Queue[T]

	// For a queue within a parent.
	parent *Queue[T]
	key    any
	at     *list.Element
	known  map[any]*Queue[T] // the queues within
}

// Place is an item's position in a queue.
type Place[T any] struct {
	item  T
	queue *Queue[T] // nil after the item has left
	at    *list.Element
}

// Empty reports whether nothing is in the queue.
func (q *Queue[T]) Empty() bool { return q.order.Len() == 0 }

// Add appends an item to its party's items.
func (q *Queue[T]) Add(item T, by Party) *Place[T] {
	for _, key := range []any{by.Token == "", by.Token, by.Address} {
		within := q.known[key]
		if within == nil {
			within = &Queue[T]{parent: q, key: key}
			within.at = q.order.PushBack(within)
			if q.known == nil {
				q.known = make(map[any]*Queue[T])
			}
			q.known[key] = within
		}
		q = within
	}
	p := &Place[T]{item: item, queue: q}
	p.at = q.order.PushBack(p)
	return p
}

// Next removes the first item that fits, by turns, and moves its party to the end. Only each party's first item is
// considered. Next returns false if no item fits.
func (q *Queue[T]) Next(fits func(T) bool) (item T, ok bool) {
	for e := q.order.Front(); e != nil; e = e.Next() {
		switch of := e.Value.(type) {
		case *Queue[T]:
			if item, ok = of.Next(fits); ok {
				if of.parent != nil && !of.Empty() {
					q.order.MoveToBack(e)
				}
				return item, true
			}
		case *Place[T]:
			if !fits(of.item) {
				return item, false
			}
			of.Leave()
			return of.item, true
		}
	}
	return item, false
}

// Leave removes the item from the queue. Further calls do nothing.
func (p *Place[T]) Leave() {
	q := p.queue
	if q == nil {
		return
	}
	q.order.Remove(p.at)
	p.queue = nil
	for ; q.parent != nil && q.Empty(); q = q.parent {
		q.parent.order.Remove(q.at)
		delete(q.parent.known, q.key)
	}
}
