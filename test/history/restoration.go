package history

import (
	"fmt"
	"maps"
	"slices"
)

// Restoration describes the replacement of a cluster by a cluster restored from its backup. All old hosts had stopped
// before the new cluster started.
type Restoration struct {
	// From and To are the start and end of the backup.
	From Time `json:"from"`
	To   Time `json:"to"`
	// Down is when the last old host had stopped, Up when the first new host was started.
	Down Time `json:"down"`
	Up   Time `json:"up"`
	// Saved are the semaphores in the backup.
	Saved []Final `json:"saved"`
}

// old reports whether a session was begun in the old cluster. Nothing reaches a client between Down and Up.
func (r *Restoration) old(s *Session) bool { return s.From < r.Up }

// oldSessions are the sessions of the old cluster.
func (h *History) oldSessions() map[uint64]bool {
	old := make(map[uint64]bool)
	for i := range h.Sessions {
		if s := &h.Sessions[i]; h.Restored.old(s) {
			old[s.ID] = true
		}
	}
	return old
}

// split separates observations of the old cluster from observations of the new one. The backup counts as a description
// of each semaphore by the old cluster, and as its creation in the new one.
func (h *History) split() (before, after *History) {
	r, old := h.Restored, h.oldSessions()
	before = &History{Title: h.Title, Grace: h.Grace, Faults: h.Faults, Notes: h.Notes}
	after = &History{Title: h.Title, Grace: h.Grace, Faults: h.Faults, Finals: h.Finals}
	r.splitSessions(h.Sessions, before, after)
	r.splitHolds(h.Holds, old, before, after)
	tokens := h.tokensOf(old)
	for _, w := range h.Writes {
		switch {
		case !tokens[w.Semaphore][w.Order]:
			after.Writes = append(after.Writes, w)
		case w.At < r.Up:
			before.Writes = append(before.Writes, w)
		}
	}
	for _, v := range h.Views {
		if v.At < r.Up {
			before.Views = append(before.Views, v)
		} else {
			after.Views = append(after.Views, v)
		}
	}
	limits := limits(h)
	for i := range r.Saved {
		s := &r.Saved[i]
		before.Operations = append(before.Operations, r.saved(s))
		if ephemeral := limits[s.Semaphore] == unlimited; s.State.Exists && !ephemeral {
			after.Operations = append(after.Operations, r.restored(s))
		}
	}
	for i := range h.Operations {
		r.splitOperation(h.Operations[i], old, before, after)
	}
	return before, after
}

// absences are the last old-cluster views that showed a missing semaphore. The new cluster has nothing new to show
// while the semaphore is missing there too.
func (h *History) absences() (views []View) {
	last := make(map[int]View)
	for _, v := range h.Views {
		if v.At < h.Restored.Up {
			last[v.Watcher] = v
		}
	}
	for _, w := range slices.Sorted(maps.Keys(last)) {
		if v := last[w]; !v.State.Exists {
			views = append(views, v)
		}
	}
	return views
}

func (r *Restoration) splitSessions(list []Session, before, after *History) {
	for _, s := range list {
		if !r.old(&s) {
			after.Sessions = append(after.Sessions, s)
			continue
		}
		if s.To >= r.Down { // ended by the restore
			s.To, s.End, s.Detail = Never, "", ""
		}
		before.Sessions = append(before.Sessions, s)
	}
}

func (r *Restoration) splitHolds(list []Hold, old map[uint64]bool, before, after *History) {
	for _, x := range list {
		switch {
		case !old[x.Session]:
			after.Holds = append(after.Holds, x)
		case x.From < r.Down:
			x.To = min(x.To, r.Down)
			before.Holds = append(before.Holds, x)
		}
	}
}

// tokensOf returns each semaphore's fencing tokens that the sessions had.
func (h *History) tokensOf(sessions map[uint64]bool) map[Semaphore]map[uint64]bool {
	tokens := make(map[Semaphore]map[uint64]bool)
	for _, x := range h.Holds {
		if tokens[x.Semaphore] == nil {
			tokens[x.Semaphore] = make(map[uint64]bool)
		}
		if sessions[x.Session] {
			tokens[x.Semaphore][x.Order] = true
		}
	}
	return tokens
}

// saved is the backup as a read: it shows a state during the backup.
func (r *Restoration) saved(f *Final) Operation {
	state := f.State
	return Operation{Kind: Describe, Semaphore: f.Semaphore, Called: r.From, Returned: r.To, Outcome: Done,
		Found: &state}
}

// restored is the semaphore's creation in the new cluster.
func (r *Restoration) restored(f *Final) Operation {
	return Operation{Kind: Create, Semaphore: f.Semaphore, Limit: f.State.Limit, Data: f.State.Data,
		Called: r.Up - 2, Returned: r.Up - 1, Outcome: Done}
}

// splitOperation adds an operation to each side in which it may have taken effect.
func (r *Restoration) splitOperation(o Operation, old map[uint64]bool, before, after *History) {
	if o.Called < r.Down {
		was := o
		if was.Returned >= r.Up {
			was.Outcome, was.Error, was.Found, was.Released = Unknown, "the cluster was restored", nil, false
			if was.Queued >= r.Up {
				was.Queued, was.Place = 0, 0
			}
		}
		before.Operations = append(before.Operations, was)
	}
	// Old sessions cannot change anything.
	if o.Returned < r.Up || old[o.Session] && o.needsSession() {
		return
	}
	o.Called = max(o.Called, r.Up)
	o.Age = min(o.Age, o.Called-r.Up)
	after.Operations = append(after.Operations, o)
}

// needsSession reports whether an operation requires a live session.
func (o *Operation) needsSession() bool { return o.Kind != Describe && o.Kind != Destroy }

// Restored checks three rules: a restored cluster never assigns a number that the old cluster may have assigned, old
// sessions change nothing in the new cluster, and the store guarded by a lock refuses old sessions.
func Restored(h *History) (found []string) {
	before, after := h.split()
	last, first := before.numbers(), after.numbers()
	for _, x := range []struct {
		what        string
		last, first uint64
	}{{"order id", last.order.most, first.order.least}, {"revision", last.revision.most, first.revision.least}} {
		if x.first <= x.last {
			found = append(found, fmt.Sprintf("the new cluster has given %s %d, and the old one %d", x.what, x.first,
				x.last))
		}
	}
	old := h.oldSessions()
	for i := range after.Sessions {
		if s := &after.Sessions[i]; old[s.ID] {
			found = append(found, fmt.Sprintf("the id of session %x was given again at %v", s.ID, s.From))
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if old[o.Session] && o.Outcome == Done && o.Returned >= h.Restored.Up && o.needsSession() {
			found = append(found, fmt.Sprintf("%v: session %x of the old cluster has got an answer to its %s at %v",
				o.Semaphore, o.Session, o.Kind, o.Returned))
		}
	}
	return append(found, h.refusedAfterwards()...)
}

// refusedAfterwards checks that the store accepts no old-cluster token after a new-cluster token, and that views never
// go back.
func (h *History) refusedAfterwards() (found []string) {
	highest := make(map[Semaphore]uint64)
	for _, w := range h.Writes {
		if w.Accepted && w.Order < highest[w.Semaphore] {
			found = append(found, fmt.Sprintf("%v: at %v token %d was accepted after %d", w.Semaphore, w.At, w.Order,
				highest[w.Semaphore]))
		}
		if w.Accepted {
			highest[w.Semaphore] = max(highest[w.Semaphore], w.Order)
		}
	}
	last := make(map[int]*View)
	for i := range h.Views {
		v := &h.Views[i]
		if b := last[v.Watcher]; b != nil && v.State.Revision <= b.State.Revision {
			found = append(found, fmt.Sprintf("%v: watcher %d saw revision %d at %v, and %d at %v", v.Semaphore,
				v.Watcher, b.State.Revision, b.At, v.State.Revision, v.At))
		}
		last[v.Watcher] = v
	}
	return found
}

// span is the minimum and maximum of some numbers.
type span struct{ least, most uint64 }

func (s *span) add(n uint64) {
	if n != 0 {
		s.least, s.most = min(s.least, n), max(s.most, n)
	}
}

// numbers are the numbers assigned by a cluster, as far as clients saw them.
type numbers struct{ order, revision span }

func (h *History) numbers() *numbers {
	n := &numbers{span{least: unlimited}, span{least: unlimited}}
	for i := range h.Operations {
		o := &h.Operations[i]
		if o.Kind == Acquire {
			n.order.add(o.Order)
			n.order.add(o.Place)
		}
		n.state(o.Found)
	}
	for i := range h.Views {
		n.state(&h.Views[i].State)
	}
	for i := range h.Finals {
		n.state(&h.Finals[i].State)
	}
	return n
}

func (n *numbers) state(s *State) {
	if s == nil {
		return
	}
	n.revision.add(s.Revision)
	for _, list := range [][]Link{s.Owners, s.Waiters} {
		for _, l := range list {
			n.order.add(l.Order)
		}
	}
}
