package history

import (
	"cmp"
	"fmt"
	"slices"
)

// Holders checks that clients never believe to hold, in total, more than the semaphore limit. A holding stops counting
// when an operator removes it by force or deletes its node. A holding in a rebuilt shard does not count while client
// faults hide the loss from its client.
func Holders(h *History) []string {
	type edge struct {
		at   Time
		hold *Hold
		end  bool
	}
	edges := make(map[Semaphore][]edge)
	removals, limits := removalsOf(h), limits(h)
	for i := range h.Holds {
		x := &h.Holds[i]
		to := min(x.To, removals.hold(x))
		if to <= x.From {
			continue
		}
		list := append(edges[x.Semaphore], edge{x.From, x, false}, edge{to, x, true})
		if from, until := h.unanswered(x); from < to {
			list[len(list)-1].at = from
			if until < to {
				list = append(list, edge{until, x, false}, edge{to, x, true})
			}
		}
		edges[x.Semaphore] = list
	}
	var found []string
	for s, list := range edges {
		slices.SortFunc(list, func(a, b edge) int { return cmp.Compare(a.at, b.at) })
		held := make(map[*Hold]bool)
		for _, e := range list {
			if e.end {
				delete(held, e.hold)
				continue
			}
			left := limits[s]
			for other := range held {
				left -= min(left, other.Count)
			}
			if e.hold.Count > left {
				text := fmt.Sprintf("%v: session %x holds %d under %d from %v on, and only %d of %d is left",
					s, e.hold.Session, e.hold.Count, e.hold.Order, e.at, left, limits[s])
				for other := range held {
					text += fmt.Sprintf("; session %x holds %d under %d from %v to %v (%s)",
						other.Session, other.Count, other.Order, other.From, other.To, other.Why)
				}
				found = append(found, text)
			}
			held[e.hold] = true
		}
	}
	return found
}
