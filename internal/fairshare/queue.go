package fairshare

import "container/list"

// Queue is a queue in which parties take turns: parties with and without a token alternate, then tokens, then
// addresses. The items of one party keep their order. The zero Queue is empty. A Queue needs a lock of its user.
type Queue[T any] struct {
	order list.List // of *Place[T], or of *Queue[T]

	// For a queue within a parent.
	parent *Queue[T]
	key    any
	at     *list.Element
	known  map[any]*Queue[T] // the queues within
}

// Place is the place of an item in a queue.
type Place[T any] struct {
	item  T
	queue *Queue[T] // nil after the item has left
	at    *list.Element
}

// Empty reports whether nothing is in the queue.
func (q *Queue[T]) Empty() bool { return q.order.Len() == 0 }

// Add puts an item at the end of its party's items.
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

// Next takes out the first item that fits, by turns, and moves its party to the end. Of each party only the first item
// is looked at. Next returns false if none fits.
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

// Leave takes the item out of the queue. Further calls do nothing.
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
