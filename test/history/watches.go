package history

import (
	"fmt"
)

// Watches checks that every watcher sees increasing revisions, each once, with changes that lead from view to view, and
// finally the final state.
func Watches(h *History) (found []string) {
	last := make(map[int]*View)
	for i := range h.Views {
		v := &h.Views[i]
		if before := last[v.Watcher]; before != nil && v.State.Revision <= before.State.Revision {
			found = append(found, fmt.Sprintf("%v: watcher %d saw revision %d at %v, and %d at %v",
				v.Semaphore, v.Watcher, before.State.Revision, before.At, v.State.Revision, v.At))
		}
		if v.Broken != "" {
			found = append(found, fmt.Sprintf("%v: watcher %d at %v, revision %d: %s",
				v.Semaphore, v.Watcher, v.At, v.State.Revision, v.Broken))
		}
		last[v.Watcher] = v
	}
	for _, f := range h.Finals {
		for _, w := range f.Watchers {
			v := h.lastView(w, f.At)
			switch {
			case v == nil:
				found = append(found, fmt.Sprintf("%v: watcher %d never saw anything", f.Semaphore, w))
			case !v.State.sameAs(&f.State):
				found = append(found, fmt.Sprintf("%v: watcher %d saw last, at %v, %+v; there is %+v",
					f.Semaphore, w, v.At, v.State, f.State))
			}
		}
	}
	return found
}

// lastView is a watcher's last view before a given time.
func (h *History) lastView(watcher int, at Time) (last *View) {
	for i := range h.Views {
		if v := &h.Views[i]; v.Watcher == watcher && v.At < at {
			last = v
		}
	}
	return last
}

// Finals checks that in the final state a semaphore's owners are exactly the clients that believe in their ownership,
// without ended sessions and clients that gave up or released. No client waits, because all programs have stopped
// acquiring.
func Finals(h *History) (found []string) {
	removals := removalsOf(h)
	ends := make(map[uint64]Time)
	for _, s := range h.Sessions {
		ends[s.ID] = s.To
	}
	for _, f := range h.Finals {
		holds := make(map[uint64]*Hold)
		for i := range h.Holds {
			x := &h.Holds[i]
			if x.Semaphore == f.Semaphore && x.From < f.At && x.To > f.At {
				holds[x.Order] = x
			}
		}
		for _, l := range f.State.Owners {
			switch x := holds[l.Order]; {
			case ends[l.Session] <= f.At:
				found = append(found, fmt.Sprintf("%v: in the end %v owns, and is dead since %v",
					f.Semaphore, l, ends[l.Session]))
			case x == nil:
				found = append(found, fmt.Sprintf("%v: in the end %v owns, and does not know it", f.Semaphore, l))
			case x.Count != l.Count || x.Session != l.Session:
				found = append(found, fmt.Sprintf("%v: in the end %v owns, and believes in %d",
					f.Semaphore, l, x.Count))
			}
			delete(holds, l.Order)
		}
		for _, x := range holds {
			if removals.hold(x) != Never {
				continue
			}
			found = append(found,
				fmt.Sprintf("%v: in the end session %x believes in %d under %d since %v, and does not own it",
					f.Semaphore, x.Session, x.Count, x.Order, x.From))
		}
		for _, l := range f.State.Waiters {
			found = append(found, fmt.Sprintf("%v: in the end %v waits, and no program asks for that any more",
				f.Semaphore, l))
		}
	}
	return found
}
