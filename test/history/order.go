package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Order checks that order ids grow: a client that asks after an order id became known gets a larger id. Semaphores with
// limit 1 are owned in id order. So order ids are fencing tokens, and the queue is first come, first served.
func Order(h *History) []string {
	bySemaphore := make(map[Semaphore][]*Operation)
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Kind == Acquire && o.joinOrderID() != 0 {
			bySemaphore[o.Semaphore] = append(bySemaphore[o.Semaphore], o)
		}
	}
	var found []string
	for s, list := range bySemaphore {
		found = append(found, joinOrder(s, list)...)
	}
	return append(found, grantOrder(h)...)
}

// joinOrderID is the first order id received by an acquire, 0 if unknown.
func (o *Operation) joinOrderID() uint64 {
	if o.Queued != 0 {
		return o.Place
	}
	return o.Order
}

// knownAt is the latest time at which the client learned the order id.
func (o *Operation) knownAt() Time {
	if o.Queued != 0 {
		return o.Queued
	}
	return o.Returned
}

func joinOrder(s Semaphore, list []*Operation) (found []string) {
	asked := slices.Clone(list)
	slices.SortFunc(asked, func(a, b *Operation) int { return cmp.Compare(a.Called, b.Called) })
	slices.SortFunc(list, func(a, b *Operation) int { return cmp.Compare(a.knownAt(), b.knownAt()) })
	var highest *Operation
	for _, o := range asked {
		for len(list) > 0 && list[0].knownAt() < o.Called {
			if highest == nil || list[0].joinOrderID() > highest.joinOrderID() {
				highest = list[0]
			}
			list = list[1:]
		}
		if highest != nil && o.joinOrderID() <= highest.joinOrderID() && o.Session != highest.Session {
			found = append(found,
				fmt.Sprintf("%v: session %x asked at %v and got %d, though session %x had got %d by %v",
					s, o.Session, o.Called, o.joinOrderID(), highest.Session, highest.joinOrderID(), highest.knownAt()))
		}
	}
	return found
}

// grantOrder checks semaphores with at most one owner at a time.
func grantOrder(h *History) (found []string) {
	limits, removals := limits(h), removalsOf(h)
	last := make(map[Semaphore]*Hold)
	for i := range h.Holds { // sorted by start time
		x := &h.Holds[i]
		if limits[x.Semaphore] != 1 || removals.hold(x) <= x.From {
			continue
		}
		before := last[x.Semaphore]
		if before != nil && x.Order < before.Order {
			found = append(found,
				fmt.Sprintf("%v: session %x came to hold under %d at %v, after session %x had under %d at %v",
					x.Semaphore, x.Session, x.Order, x.From, before.Session, before.Order, before.From))
			continue
		}
		last[x.Semaphore] = x
	}
	return found
}

// Writes checks the store guarded by a lock: it never accepts a token below an accepted token, and never refuses the
// current lock holder.
func Writes(h *History) (found []string) {
	highest, owners := make(map[Semaphore]uint64), make(map[ownership]uint64) // sessions, by tokens
	removals := removalsOf(h)
	for _, x := range h.Holds {
		owners[ownership{semaphore: x.Semaphore, order: x.Order}] = x.Session
	}
	for _, w := range h.Writes {
		owner := owners[ownership{semaphore: w.Semaphore, order: w.Order}]
		switch {
		case w.Accepted && w.Order < highest[w.Semaphore]:
			found = append(found, fmt.Sprintf("%v: at %v token %d was accepted after %d",
				w.Semaphore, w.At, w.Order, highest[w.Semaphore]))
		case !w.Accepted && w.Believed && removals.from(w.Semaphore, owner, 0) > w.At:
			found = append(found, fmt.Sprintf("%v: at %v the holder under %d was refused, because of %d",
				w.Semaphore, w.At, w.Order, highest[w.Semaphore]))
		}
		if w.Accepted {
			highest[w.Semaphore] = max(highest[w.Semaphore], w.Order)
		}
	}
	return found
}

// Numbers checks that a request never receives the answer of an earlier request with the same number: an acquire
// answered as owner owns, and a release answered with "nothing to release" had no holding.
func Numbers(h *History) (found []string) {
	for i := range h.Numbered {
		switch x := &h.Numbered[i]; {
		case h.renewed(x.Semaphore, x.From, x.To): // the owner may lose its holding between request and read
		case x.Kind == Acquire && x.Order != x.Owns:
			found = append(found, fmt.Sprintf(
				"%v: session %x acquired under %d by its number %d at %v, and owns under %d",
				x.Semaphore, x.Session, x.Order, x.Number, x.At, x.Owns))
		case x.Kind == Release && x.Held != 0:
			found = append(found, fmt.Sprintf(
				"%v: session %x had nothing to release by its number %d at %v, and owned under %d",
				x.Semaphore, x.Session, x.Number, x.At, x.Held))
		}
	}
	return found
}
