package history

import (
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/anishathalye/porcupine"
)

// linearTime bounds the linearizability search per semaphore.
const linearTime = 2 * time.Second

// Linear checks that the operations on each semaphore are linearizable: some order, with each operation between call
// and return, explains every answer. STRICT descriptions show a state between call and return, RELAXED descriptions may
// be older by Age. An ended session loses its holdings at some time after its client gave up.
//
// limit applies per semaphore. undecided lists the semaphores with too little time.
func Linear(h *History, limit time.Duration) (found []string, undecided []Semaphore) {
	operations := make(map[Semaphore][]*Operation)
	for i := range h.Operations {
		o := &h.Operations[i]
		operations[o.Semaphore] = append(operations[o.Semaphore], o)
	}
	ends := endsOf(h)
	for _, s := range slices.SortedFunc(maps.Keys(operations), func(a, b Semaphore) int {
		return slices.Compare([]string{a.Node, a.Name}, []string{b.Node, b.Name})
	}) {
		steps := append(stepsOf(operations[s], ends), h.renewals(s)...)
		switch result, info := porcupine.CheckOperationsVerbose(semaphoreModel, linearOperations(steps),
			limit); result {
		case porcupine.Illegal:
			found = append(found, fmt.Sprintf("%v: no order explains the answers: %s",
				s, firstUnexplained(steps, info)))
		case porcupine.Unknown:
			undecided = append(undecided, s)
		}
	}
	return found, undecided
}

// endsOf returns from when on sessions may have been over.
func endsOf(h *History) map[uint64]Time {
	ends := make(map[uint64]Time)
	for _, s := range h.Sessions {
		if s.To != Never {
			ends[s.ID] = s.To
		}
	}
	for _, o := range h.Operations {
		if o.Kind == Destroy && o.mayHaveTakenEffect() {
			if end, over := ends[o.Session]; !over || o.Called < end {
				ends[o.Session] = o.Called
			}
		}
	}
	return ends
}

func linearOperations(steps []step) []porcupine.Operation {
	out := make([]porcupine.Operation, len(steps))
	for i := range steps {
		out[i] = porcupine.Operation{ClientId: i, Input: &steps[i], Call: int64(steps[i].from),
			Return: int64(steps[i].to)}
	}
	return out
}

// firstUnexplained describes the first step not reached by the longest orders found.
func firstUnexplained(steps []step, info porcupine.LinearizationInfo) string {
	longest := 0
	var done map[int]bool
	for _, partition := range info.PartialLinearizations() {
		for _, order := range partition {
			if len(order) > longest {
				longest, done = len(order), make(map[int]bool)
				for _, i := range order {
					done[i] = true
				}
			}
		}
	}
	first := -1
	for i := range steps {
		if !done[i] && (first < 0 || steps[i].to < steps[first].to) {
			first = i
		}
	}
	if first < 0 {
		return "nothing"
	}
	return fmt.Sprintf("after %d of %d steps there is none for %v", longest, len(steps), &steps[first])
}

// String draws the step.
func (s *step) String() string {
	text := fmt.Sprintf("%s of session %x under %d between %v and %v", s.kind, s.session, s.order, s.from, s.to)
	if s.of != nil {
		text += fmt.Sprintf(" (%s, count %d, data %q, guard %d: %s %s)",
			s.of.Kind, s.of.Count, s.of.Data, s.of.Guard, s.of.Outcome, s.of.Error)
		if s.of.Found != nil {
			text += fmt.Sprintf(" that shows %+v", *s.of.Found)
		}
	}
	return text
}

var semaphoreModel = (&porcupine.NondeterministicModel{
	Init:  func() []any { return []any{model{}} },
	Equal: func(a, b any) bool { return a.(model).equal(b.(model)) },
	Hash:  func(s any) uint64 { return s.(model).hash() },
	Step: func(state, input, _ any) (next []any) {
		s := input.(*step)
		for _, m := range state.(model).successors() {
			after, ok := s.apply(m)
			if s.transient {
				after = after.markTransient(s.session, 0)
			}
			if ok {
				next = append(next, after)
			}
			if s.maybe && !(ok && after.equal(m)) {
				next = append(next, m)
			}
		}
		return next
	},
}).ToModel()

// apply is the model after the step, and whether the step is possible.
func (s *step) apply(m model) (next model, ok bool) {
	switch s.kind {
	case stepAcquire:
		next, a, ok := m.acquire(s.session, s.of.Count, s.order, true, s.of.Ephemeral)
		switch s.of.Outcome {
		case Done:
			return next, ok && a == owning
		case NotAcquired:
			return next, ok && a == neither
		}
		return next, ok && a == missing
	case stepJoin:
		next, a, ok := m.acquire(s.session, s.of.Count, s.order, s.of.Wait == 0, s.of.Ephemeral)
		return next, ok && (a >= waiting || s.maybe)
	case stepOwn:
		i := m.index(s.session)
		return m, i >= 0 && i < m.owners && m.links[i].Order == s.order
	case stepTransient:
		return m.markTransient(s.session, s.order), true
	case stepRenew:
		return m.withoutLinks(), true
	}
	return s.applyOther(m)
}

func (s *step) applyOther(m model) (next model, ok bool) {
	o := s.of
	switch o.Kind {
	case Describe:
		return m.matches(o.Found)
	case Create:
		switch o.Outcome {
		case Exists:
			return m, m.exists && !m.ephemeral
		case Refused:
			return m, m.ephemeral
		}
		return model{exists: true, limit: o.Limit, data: o.Data, last: m.last}, !m.exists
	case Update:
		i := m.index(s.session)
		holds := o.Guard == 0 || i >= 0 && i < m.owners && (m.links[i].Order == o.Guard || m.links[i].Order == 0)
		switch o.Outcome {
		case NotFound:
			return m, !m.exists
		case Fenced:
			return m, m.exists && !(o.Guard == 0 || i >= 0 && i < m.owners && m.links[i].Order == o.Guard)
		}
		next = m
		next.data = o.Data
		return next, m.exists && holds
	case Delete:
		switch o.Outcome {
		case NotFound:
			return m, !m.exists
		case Refused:
			return m, m.ephemeral || len(m.links) > 0
		}
		return model{last: m.last}, m.exists && !m.ephemeral && (o.Force || len(m.links) == 0)
	case Change:
		i := m.index(s.session)
		if i >= 0 && i < m.owners && m.links[i].Order == s.order {
			next, a, ok := m.reacquire(i, o.Count, s.order, true)
			return next, ok && a == owning
		}
		if o.Outcome == Done {
			return m, false
		}
		// The lease was lost meanwhile. The replacement is released again.
		next, _, ok = m.acquire(s.session, o.Count, 0, true, o.Ephemeral)
		return next.markTransient(s.session, 0), ok
	case Release:
		return s.release(m)
	}
	return m, true
}

// release is a release with a known outcome.
func (s *step) release(m model) (next model, ok bool) {
	i := m.index(s.session)
	mine := i >= 0 && (s.of.Guard == 0 || m.links[i].Order == 0 || m.links[i].Order == s.of.Guard)
	switch {
	case s.of.Outcome == Fenced || !s.of.Released:
		return m, !mine
	case mine:
		return m.without(i), true
	}
	return m, false
}
