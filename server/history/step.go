package history

import (
	"cmp"
	"slices"
)

// stepKind is what a step does.
type stepKind string

const (
	stepAcquire stepKind = "acquire" // and hear what comes of it at once
	stepJoin    stepKind = "join"    // own or wait
	stepOwn     stepKind = "own"     // be an owner
	stepLeave   stepKind = "leave"   // a queue, by timeout or because the acquire was given up
	stepEnd     stepKind = "end"     // of a session
	stepOther   stepKind = "other"
)

// step is something that happens to a semaphore in one moment between two. An acquire that waits is two steps,
// one that was given up is two of which nobody knows whether they happened.
type step struct {
	kind     stepKind
	of       *Operation // nil for the end of a session
	session  uint64
	order    uint64 // 0 where it is not known
	maybe    bool
	from, to Time
}

// stepsOf turns what a history knows of a semaphore into steps.
func stepsOf(h *History, operations []*Operation, ends map[uint64]Time) (steps []step) {
	slices.SortFunc(operations, func(a, b *Operation) int { return cmp.Compare(a.Called, b.Called) })
	answered := answersOf(operations)
	doubtful, acquired := make(map[uint64]bool), make(map[uint64]bool)
	for _, o := range operations {
		// What was given up may take effect until its session has got the answer to another change of the
		// same semaphore; what the client does about it in the background, one change later.
		settled, undone := answered.after(o, 1), answered.after(o, 2)
		if o.Kind == Acquire || o.Kind == Change {
			acquired[o.Session] = true
			if settled == Never && o.Outcome != Done {
				doubtful[o.Session] = true
			}
		}
		steps = append(steps, stepsOfOne(o, settled, undone)...)
	}
	for session := range acquired {
		end, over := ends[session]
		if !over {
			continue
		}
		steps = append(steps, step{kind: stepEnd, session: session, from: end, to: Never})
		if doubtful[session] {
			// A copy of what it gave up may come after its end, and is undone again.
			steps = append(steps, step{kind: stepEnd, session: session, from: end, to: Never})
		}
	}
	return steps
}

// answers are when the changes of sessions were answered, in order.
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

// after is when the nth change of the same session that was asked for after an operation was answered.
func (a answers) after(o *Operation, n int) Time {
	if o.Session == 0 {
		return Never
	}
	for _, other := range a[o.Session] {
		if other.Called > o.Called {
			if n--; n == 0 {
				return other.Returned
			}
		}
	}
	return Never
}

func stepsOfOne(o *Operation, settled, undone Time) []step {
	one := step{kind: stepOther, of: o, session: o.Session, order: o.Order, from: o.Called, to: o.Returned}
	if o.Outcome == Unknown {
		one.maybe, one.to = true, settled
	}
	switch o.Kind {
	case Describe:
		if o.Found == nil {
			return nil
		}
		one.from -= o.Age
		return []step{one}
	case Release:
		if o.Outcome == Unknown {
			one.to = undone
		}
		return []step{one}
	case Acquire:
		return acquireSteps(o, one, settled, undone)
	case Change:
		if o.Outcome == Done {
			return []step{one}
		}
		if o.Outcome != Unknown {
			return nil
		}
		// If the lease was lost meanwhile, something else may have been got, and is given back.
		one.kind, one.order = stepJoin, 0
		leave := one
		leave.kind, leave.to = stepLeave, undone
		return []step{one, leave}
	case Create, Update, Delete:
		return []step{one}
	}
	return nil
}

func acquireSteps(o *Operation, one step, settled, undone Time) []step {
	join, own, leave := one, one, one
	join.kind, own.kind, leave.kind = stepJoin, stepOwn, stepLeave
	leave.maybe, leave.to = true, undone
	switch {
	case o.Wait == 0 && o.Outcome != Unknown:
		one.kind = stepAcquire
		if o.Outcome == Refused {
			return nil
		}
		return []step{one}
	case o.Queued != 0 && (o.Outcome != Done || o.Place == o.Order):
		join.maybe, join.to, join.order = false, o.Queued, o.Place
		leave.from, leave.order, own.from = o.Queued, o.Place, o.Queued
		if o.Outcome == Done {
			return []step{join, own}
		}
		return []step{join, leave}
	case o.Queued != 0:
		// It lost its place unheard, and got another one.
		first := join
		first.order, first.to = o.Place, o.Queued
		leave.order, leave.from, leave.to = o.Place, o.Queued, o.Returned
		join.from, own.from = o.Queued, o.Queued
		return []step{first, leave, join, own}
	case o.Outcome == Done:
		return []step{join, own}
	case o.Outcome == NotFound:
		one.kind = stepAcquire
		return []step{one}
	case o.Outcome == Refused:
		return nil
	}
	join.maybe, join.to, join.order, leave.order = true, settled, 0, 0
	return []step{join, leave}
}
