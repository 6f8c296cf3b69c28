package history

import (
	"fmt"
	"slices"
)

// Rule must hold in every history.
type Rule struct {
	Name  string
	Check func(*History) []string
}

// Rules are all rules except Linear, which may stay undecided.
var Rules = []Rule{
	{"notes", func(h *History) []string { return h.Notes }},
	{"holders", Holders},
	{"order", Order},
	{"writes", Writes},
	{"states", States},
	{"once", Once},
	{"sessions", Sessions},
	{"progress", Progress},
	{"notified", Notified},
	{"numbers", Numbers},
	{"watches", Watches},
	{"finals", Finals},
	{"targets", Targets},
	{"published", Published},
	{"delays", Delays},
	{"pauses", Pauses},
	{"reached", Reached},
	{"converged", Converged},
	{"handlers", Handlers},
	{"exchanges", Exchanges},
	{"epochs", Epochs},
	{"causes", Causes},
	{"rounds", Rounds},
}

// Finding is a rule violation.
type Finding struct {
	Rule string
	Text string
}

// String returns the rule and the text.
func (f Finding) String() string { return f.Rule + ": " + f.Text }

// Check returns rule violations, including Linear, and the semaphores that Linear could not decide in time.
//
// A restored cluster's history is judged in two parts, and by the restoration rule.
func Check(h *History) (found []Finding, undecided []Semaphore) {
	if h.Restored == nil {
		return check(h)
	}
	for _, text := range Restored(h) {
		found = append(found, Finding{"restored", text})
	}
	before, after := h.split()
	after.Views = slices.Concat(h.absences(), after.Views)
	for name, part := range map[string]*History{"before the restore": before, "after the restore": after} {
		more, open := check(part)
		for _, f := range more {
			found = append(found, Finding{f.Rule, name + ": " + f.Text})
		}
		undecided = append(undecided, open...)
	}
	return found, undecided
}

func check(h *History) (found []Finding, undecided []Semaphore) {
	for _, r := range Rules {
		for _, text := range r.Check(h) {
			found = append(found, Finding{r.Name, text})
		}
	}
	texts, undecided := Linear(h, linearTime)
	for _, text := range texts {
		found = append(found, Finding{"linear", text})
	}
	return found, undecided
}

// mayHaveTakenEffect reports whether an operation may have had an effect.
func (o *Operation) mayHaveTakenEffect() bool { return o.Outcome == Done || o.Outcome == Unknown }

// removals are the operations that remove a holding. The owner may believe in the holding until notified.
type removals struct {
	semaphores map[Semaphore][]*Operation
	sessions   map[uint64][]*Operation
	nodes      map[string][]*Operation
	gained     map[ownership]Time
}

// ownership is a session's holding under one order id, with any count.
type ownership struct {
	semaphore      Semaphore
	session, order uint64
}

func removalsOf(h *History) *removals {
	x := &removals{
		semaphores: make(map[Semaphore][]*Operation), sessions: make(map[uint64][]*Operation),
		nodes: make(map[string][]*Operation), gained: make(map[ownership]Time),
	}
	for i := range h.Holds { // sorted by start time
		hold := &h.Holds[i]
		if key := (ownership{hold.Semaphore, hold.Session, hold.Order}); x.gained[key] == 0 {
			x.gained[key] = hold.From
		}
	}
	for i := range h.Operations {
		o := &h.Operations[i]
		if key := (ownership{o.Semaphore, o.Session, o.Order}); o.Kind == Acquire && o.Order != 0 &&
			o.Called < x.gained[key] {
			x.gained[key] = o.Called // it may have been granted and lost long before its client was notified
		}
		switch {
		case !o.mayHaveTakenEffect():
		case o.Kind == Delete && o.Force:
			x.semaphores[o.Semaphore] = append(x.semaphores[o.Semaphore], o)
		case o.Kind == Destroy:
			x.sessions[o.Session] = append(x.sessions[o.Session], o)
		case o.Kind == Drop:
			x.nodes[o.Semaphore.Node] = append(x.nodes[o.Semaphore.Node], o)
		}
	}
	return x
}

// hold is the earliest time at which a hold may have ended without the client's knowledge.
func (r *removals) hold(h *Hold) Time {
	return r.from(h.Semaphore, h.Session, r.gained[ownership{h.Semaphore, h.Session, h.Order}])
}

// from is the earliest time at which a holding, gained at a given time, may have been removed without the session's
// knowledge.
func (r *removals) from(s Semaphore, session uint64, gained Time) Time {
	first := Never
	for _, list := range [][]*Operation{r.semaphores[s], r.sessions[session], r.nodes[s.Node]} {
		for _, o := range list {
			if o.Outcome == Unknown || o.Returned > gained {
				first = min(first, max(o.Called, gained))
			}
		}
	}
	return first
}

// limits are the largest limits that each semaphore may have had.
func limits(h *History) map[Semaphore]uint64 {
	out := make(map[Semaphore]uint64)
	for i := range h.Operations {
		o := &h.Operations[i]
		switch {
		case o.Kind == Create && o.mayHaveTakenEffect():
			out[o.Semaphore] = max(out[o.Semaphore], o.Limit)
		case o.Kind == Acquire && o.Ephemeral:
			out[o.Semaphore] = unlimited
		}
	}
	return out
}

// unlimited is the limit of an ephemeral semaphore, and the count of an exclusive acquire.
const unlimited = 1<<64 - 1

// plus adds counts without overflow.
func plus(a, b uint64) uint64 {
	if a > unlimited-b {
		return unlimited
	}
	return a + b
}

// String describes the link.
func (l Link) String() string {
	return fmt.Sprintf("session %x with %d under %d", l.Session, l.Count, l.Order)
}
