package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// quietTime is the time without faults after which clients may expect prompt service: the last session that died in
	// a fault has expired by then, even with the longest timeout and grace.
	quietTime = 60 * time.Second
	// promptTime is the maximum time that a lock may be free during quiet times while a client waits.
	promptTime = 5 * time.Second
)

// Progress checks that in quiet times no client waits for a free lock.
func Progress(h *History) (found []string) {
	limits := limits(h)
	holds := make(map[Semaphore][]*Hold)
	for i := range h.Holds {
		holds[h.Holds[i].Semaphore] = append(holds[h.Holds[i].Semaphore], &h.Holds[i])
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Kind != Acquire || o.Queued == 0 || o.Outcome == Done || limits[o.Semaphore] != 1 {
			continue
		}
		if from, to := longestFree(holds[o.Semaphore], o.Queued, o.Returned); to-from > promptTime &&
			!h.disturbed(-1, from-quietTime, to) {
			found = append(found,
				fmt.Sprintf("%v: session %x waited under %d from %v to %v, and no client held it from %v to %v",
					o.Semaphore, o.Session, o.Place, o.Queued, o.Returned, from, to))
		}
	}
	return found
}

// Notified checks that in quiet times owners are notified soon after a forced delete or a session destroy.
func Notified(h *History) (found []string) {
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Outcome != Done || !(o.Kind == Delete && o.Force || o.Kind == Destroy) ||
			h.disturbed(-1, o.Called-quietTime, o.Returned+promptTime) {
			continue
		}
		for j := range h.Holds {
			x := &h.Holds[j]
			hit := x.Semaphore == o.Semaphore || o.Kind == Destroy && x.Session == o.Session
			if hit && x.From < o.Called && x.To > o.Returned+promptTime {
				found = append(found, fmt.Sprintf("%v: session %x believed until %v in %d that was taken from it by %v",
					x.Semaphore, x.Session, x.To, x.Order, o.Returned))
			}
		}
	}
	return found
}

// longestFree is the longest interval without holds, within from and to.
func longestFree(holds []*Hold, from, to Time) (begin, end Time) {
	holds = slices.Clone(holds)
	slices.SortFunc(holds, func(a, b *Hold) int { return cmp.Compare(a.From, b.From) })
	free := from // from here on no client was seen to hold
	check := func(until Time) {
		if until-free > end-begin {
			begin, end = free, until
		}
	}
	for _, x := range holds {
		if x.To <= from || x.From >= to {
			continue
		}
		check(x.From)
		free = max(free, x.To)
	}
	check(to)
	return begin, end
}
