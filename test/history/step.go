package history

import (
	"cmp"
	"slices"
)

// stepKind is the kind of a step.
type stepKind string

const (
	stepAcquire   stepKind = "acquire" // with an answer at once
	stepJoin      stepKind = "join"    // own or wait
	stepOwn       stepKind = "own"     // be an owner
	stepTransient stepKind = "end"     // what becomes transient
	stepRenew     stepKind = "renewal" // shard rebuild: all owners and waiters are gone
	stepOther     stepKind = "other"
)

// step is one semaphore change within a time interval. An acquire that waited has two steps.
type step struct {
	kind      stepKind
	of        *Operation // nil for a session end
	session   uint64
	order     uint64 // 0 if unknown
	maybe     bool   // may not have happened
	transient bool   // the session's new holding is transient
	from, to  Time
}

// stepsOf converts the operations on a semaphore into steps.
func stepsOf(operations []*Operation, ends map[uint64]Time) (steps []step) {
	slices.SortFunc(operations, func(a, b *Operation) int { return cmp.Compare(a.Called, b.Called) })
	answered, shown := answersOf(operations), shownData(operations)
	ended := make(map[uint64]bool)
	for _, o := range operations {
		if o.Kind == Update && o.Outcome == Unknown {
			// Displayed data was written before its display. Data never displayed explains nothing.
			if at, knownAt := shown[o.Data]; knownAt {
				steps = append(steps, step{kind: stepOther, of: o, session: o.Session, from: o.Called, to: at})
			}
			continue
		}
		end, over := ends[o.Session]
		for _, s := range stepsOfOne(o, answered) {
			s.transient = s.transient || over && s.to > end
			steps = append(steps, s)
		}
		if over && !ended[o.Session] && (o.Kind == Acquire || o.Kind == Change) {
			ended[o.Session] = true
			steps = append(steps, step{kind: stepTransient, session: o.Session, from: end, to: end})
		}
	}
	return steps
}

// shownData returns, for displayed data, the latest possible write time. Updates never write equal data.
func shownData(operations []*Operation) map[string]Time {
	shown := make(map[string]Time)
	for _, o := range operations {
		if o.Kind != Describe || o.Found == nil {
			continue
		}
		if at, knownAt := shown[o.Found.Data]; !knownAt || o.Returned < at {
			shown[o.Found.Data] = o.Returned
		}
	}
	return shown
}

// answers are the changes of each session with a final answer, in order.
type answers map[uint64][]*Operation

func answersOf(operations []*Operation) answers {
	a := make(answers)
	for _, o := range operations {
		if o.Kind != Describe && o.Outcome != Unknown && !(o.Outcome == NotAcquired && o.Wait != 0) {
			a[o.Session] = append(a[o.Session], o)
		}
	}
	return a
}

// latestEffect is the latest time at which a given-up operation may take effect: when a later change of the semaphore
// by the same session, with a higher number, was answered. Without a session there is no limit.
func (a answers) latestEffect(o *Operation) Time {
	if o.Session != 0 {
		for _, other := range a[o.Session] {
			if other.Called > o.Called {
				return other.Returned
			}
		}
	}
	return Never
}

func stepsOfOne(o *Operation, answered answers) []step {
	one := step{kind: stepOther, of: o, session: o.Session, order: o.Order, from: o.Called, to: o.Returned}
	if o.Outcome == Unknown {
		one.maybe, one.to = true, answered.latestEffect(o)
	}
	switch {
	case o.Outcome == OverQuota && o.Queued == 0:
		return nil
	case o.Kind == Describe && o.Found != nil:
		one.from -= o.Age
		return []step{one}
	case o.Kind == Release && o.Outcome == Unknown:
		// The release continues in the background.
		return []step{{kind: stepTransient, session: o.Session, order: o.Guard, from: o.Called, to: o.Called}}
	case o.Kind == Acquire:
		return acquireSteps(o, one, answered)
	case o.Kind == Change && (o.Outcome == Done || o.Outcome == Unknown):
		return []step{one}
	case o.Kind == Update && o.Revision != 0 && o.Outcome == Refused:
		return nil // a revision mismatch, unknown to the model
	case o.Kind == Create, o.Kind == Update, o.Kind == Delete, o.Kind == Release:
		return []step{one}
	}
	return nil
}

func acquireSteps(o *Operation, one step, answered answers) []step {
	join, own := one, one
	join.kind, own.kind = stepJoin, stepOwn
	join.transient = o.Outcome != Done
	switch {
	case o.Wait == 0 && o.Outcome != Unknown:
		one.kind = stepAcquire
		if o.Outcome == Refused {
			return nil
		}
		return []step{one}
	case o.Queued != 0:
		first := join
		first.maybe, first.to, first.order = false, o.Queued, o.Place
		if o.Outcome != Done {
			return []step{first}
		}
		// It may have owned and lost the semaphore before the client learned of waiting.
		if o.Place == o.Order {
			return []step{first, own}
		}
		// It lost its queue position without notice, and got a new one.
		first.transient = true
		join.from = o.Queued
		return []step{first, join, own}
	case o.Outcome == Done:
		return []step{join, own}
	case o.Outcome == NotFound:
		one.kind = stepAcquire
		return []step{one}
	case o.Outcome == Refused:
		return nil
	}
	join.maybe, join.to, join.order = true, answered.latestEffect(o), 0
	return []step{join}
}
