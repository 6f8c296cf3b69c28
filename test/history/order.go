package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Order: who asks after another one has got his order id gets a larger one, and of a semaphore with a limit of
// one they own in the order of these ids. So the ids are fencing tokens, and the queue is first come, first
// served.
func Order(h *History) []string {
	bySemaphore := make(map[Semaphore][]*Operation)
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Kind == Acquire && o.joined() != 0 {
			bySemaphore[o.Semaphore] = append(bySemaphore[o.Semaphore], o)
		}
	}
	var found []string
	for s, list := range bySemaphore {
		found = append(found, joinOrder(s, list)...)
	}
	return append(found, grantOrder(h)...)
}

// joined is the order id that an acquire got first, 0 if none is known.
func (o *Operation) joined() uint64 {
	if o.Queued != 0 {
		return o.Place
	}
	return o.Order
}

// known is when the client knew that order id at the latest.
func (o *Operation) known() Time {
	if o.Queued != 0 {
		return o.Queued
	}
	return o.Returned
}

func joinOrder(s Semaphore, list []*Operation) (found []string) {
	asked := slices.Clone(list)
	slices.SortFunc(asked, func(a, b *Operation) int { return cmp.Compare(a.Called, b.Called) })
	slices.SortFunc(list, func(a, b *Operation) int { return cmp.Compare(a.known(), b.known()) })
	var highest *Operation
	for _, o := range asked {
		for len(list) > 0 && list[0].known() < o.Called {
			if highest == nil || list[0].joined() > highest.joined() {
				highest = list[0]
			}
			list = list[1:]
		}
		if highest != nil && o.joined() <= highest.joined() && o.Session != highest.Session {
			found = append(found, fmt.Sprintf("%v: session %x asked at %v and got %d, though session %x had got %d by %v",
				s, o.Session, o.Called, o.joined(), highest.Session, highest.joined(), highest.known()))
		}
	}
	return found
}

// grantOrder looks at semaphores that one session holds at a time.
func grantOrder(h *History) (found []string) {
	limits, excuses := limits(h), excusesOf(h)
	last := make(map[Semaphore]*Hold)
	for i := range h.Holds { // they are in the order of their beginnings
		x := &h.Holds[i]
		if limits[x.Semaphore] != 1 || excuses.hold(x) <= x.From {
			continue
		}
		before := last[x.Semaphore]
		if before != nil && x.Order < before.Order {
			found = append(found, fmt.Sprintf("%v: session %x came to hold under %d at %v, after session %x had under %d at %v",
				x.Semaphore, x.Session, x.Order, x.From, before.Session, before.Order, before.From))
			continue
		}
		last[x.Semaphore] = x
	}
	return found
}

// Writes: the store that a lock guards never takes a token below one that it has taken before, and never refuses
// who held the lock in the moment of writing.
func Writes(h *History) (found []string) {
	highest := make(map[Semaphore]uint64)
	excuses := excusesOf(h)
	for _, w := range h.Writes {
		switch {
		case w.Accepted && w.Order < highest[w.Semaphore]:
			found = append(found, fmt.Sprintf("%v: at %v token %d was accepted after %d", w.Semaphore, w.At, w.Order, highest[w.Semaphore]))
		case !w.Accepted && w.Believed && excuses.from(w.Semaphore, 0, 0) > w.At:
			found = append(found, fmt.Sprintf("%v: at %v the holder under %d was refused, because of %d",
				w.Semaphore, w.At, w.Order, highest[w.Semaphore]))
		}
		if w.Accepted {
			highest[w.Semaphore] = max(highest[w.Semaphore], w.Order)
		}
	}
	return found
}
