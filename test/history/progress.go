package history

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

const (
	// quiet is how long nothing must have been wrong before anybody may expect to be served at once: until the
	// last who died in the last fault has expired, by the longest timeout and grace.
	quiet = 60 * time.Second
	// prompt is how long a free lock may stay free in quiet times while somebody waits for it.
	prompt = 5 * time.Second
)

// Progress: in quiet times nobody waits for a lock that nobody holds.
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
		if from, to := longestFree(holds[o.Semaphore], o.Queued, o.Returned); to-from > prompt && !h.suffered(-1, from-quiet, to) {
			found = append(found, fmt.Sprintf("%v: session %x waited under %d from %v to %v, and nobody held it from %v to %v",
				o.Semaphore, o.Session, o.Place, o.Queued, o.Returned, from, to))
		}
	}
	return found
}

// Told: in quiet times an owner hears soon that a semaphore was deleted by force, or its session destroyed.
func Told(h *History) (found []string) {
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Outcome != Done || !(o.Kind == Delete && o.Force || o.Kind == Destroy) || h.suffered(-1, o.Called-quiet, o.Returned+prompt) {
			continue
		}
		for j := range h.Holds {
			x := &h.Holds[j]
			hit := x.Semaphore == o.Semaphore || o.Kind == Destroy && x.Session == o.Session
			if hit && x.From < o.Called && x.To > o.Returned+prompt {
				found = append(found, fmt.Sprintf("%v: session %x believed until %v in %d that was taken from it by %v",
					x.Semaphore, x.Session, x.To, x.Order, o.Returned))
			}
		}
	}
	return found
}

// longestFree is the longest time between two moments in which nobody held anything.
func longestFree(holds []*Hold, from, to Time) (begin, end Time) {
	holds = slices.Clone(holds)
	slices.SortFunc(holds, func(a, b *Hold) int { return cmp.Compare(a.From, b.From) })
	free := from // from here on nobody was seen to hold
	look := func(until Time) {
		if until-free > end-begin {
			begin, end = free, until
		}
	}
	for _, x := range holds {
		if x.To <= from || x.From >= to {
			continue
		}
		look(x.From)
		free = max(free, x.To)
	}
	look(to)
	return begin, end
}
