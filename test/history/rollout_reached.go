package history

// Reached checks that a location gets its next version only after the leaders have reached the previous version: an
// instance has reported each reached version, a checker has passed the version, and every instance that led from one
// target to the next has reported the version.
func Reached(h *History) []string {
	var found findings
	e := evidence{reportsOf(h), passedGates(h), leadingOf(h)}
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		shown := firstShown(h, f)
		for j := range f.Locations {
			l := &f.Locations[j]
			for k := range l.Targets {
				found = append(found, e.checkReached(f, l, &l.Targets[k])...)
				if k > 0 && l.Targets[k].Cause == causeNext {
					found = append(found, e.checkNext(f, shown, l, k)...)
				}
			}
		}
	}
	return found
}

// evidence is the instances' and checkers' reports.
type evidence struct {
	reports map[generation]map[uint64]Time // each session's first report for each generation
	passed  map[passedKey]bool
	leaders []leading
}

// checkReached checks that reports justify a reached target.
func (e *evidence) checkReached(f *RolloutFinal, l *FinalLocation, t *FinalTarget) (found findings) {
	if t.Reached == 0 || t.Waived {
		return nil
	}
	if len(e.reports[generation{f.Rollout, t.Generation}]) == 0 {
		found.add(f.Rollout, "%s reached generation %d, and no instance began to report it", l.Name, t.Generation)
	}
	if l.Gated && !e.passed[passedKey{f.Rollout, l.Name, t.Seq}] {
		found.add(f.Rollout, "%s reached generation %d, and no checker began to pass its gate for version %d",
			l.Name, t.Generation, t.Seq)
	}
	return found
}

// checkNext checks a target that was assigned because the previous target was reached.
func (e *evidence) checkNext(f *RolloutFinal, shown map[uint64]*Target, l *FinalLocation, k int) (found findings) {
	before, next := &l.Targets[k-1], &l.Targets[k]
	if before.Reached == 0 || before.Abandoned != 0 || before.Reached > next.Assigned {
		found.add(f.Rollout, "%s got generation %d, at %d, as the next of %+v",
			l.Name, next.Generation, next.Assigned, *before)
	}
	if from, to := shown[before.Generation], shown[next.Generation]; from != nil && to != nil {
		found = append(found, e.checkLeaders(generation{f.Rollout, before.Generation}, from, to)...)
	}
	return found
}

// checkLeaders checks that the leading instances had begun to report a generation before the next generation was shown.
func (e *evidence) checkLeaders(g generation, from, to *Target) (found findings) {
	for _, x := range e.leaders {
		if x.rollout != g.rollout || x.location != from.Location || x.from > from.At || x.to < to.At {
			continue
		}
		if at, ok := e.reports[g][x.session]; !ok || at > to.At {
			found.add(g.rollout, "%s was shown generation %d at %v and %d at %v, and session %x, "+
				"which led from %v to %v, had not begun to report %d",
				from.Location, g.number, from.At, to.Generation, to.At, x.session, x.from, x.to, g.number)
		}
	}
	return found
}

// reportsOf returns the start of each session's first report per generation.
func reportsOf(h *History) map[generation]map[uint64]Time {
	reports := make(map[generation]map[uint64]Time)
	for i := range h.Requests {
		r := &h.Requests[i]
		if r.Kind != Reach {
			continue
		}
		g := generation{r.Rollout, r.Generation}
		if reports[g] == nil {
			reports[g] = make(map[uint64]Time)
		}
		if at, ok := reports[g][r.Session]; !ok || r.Called < at {
			reports[g][r.Session] = r.Called
		}
	}
	return reports
}

// passedKey is a version in a location with a gate.
type passedKey struct {
	rollout  Rollout
	location string
	seq      uint64
}

// passedGates returns the generations that checkers began to pass.
func passedGates(h *History) map[passedKey]bool {
	passed := make(map[passedKey]bool)
	for i := range h.Requests {
		if r := &h.Requests[i]; r.Kind == Judge && r.Passed {
			passed[passedKey{r.Rollout, r.Location, r.Seq}] = true
		}
	}
	return passed
}

// leading is an interval during which an instance certainly was a leader.
type leading struct {
	rollout  Rollout
	location string
	session  uint64
	from, to Time
}

// leadingOf returns the instances' leadership intervals, per session.
func leadingOf(h *History) (list []leading) {
	ends := make(map[uint64]Time)
	for i := range h.Sessions {
		ends[h.Sessions[i].ID] = h.Sessions[i].To
	}
	removals := removalsOf(h)
	for i := range h.Requests {
		r := &h.Requests[i]
		end, known := ends[r.Session]
		if r.Kind != Lead || r.Outcome != Done || !known {
			continue
		}
		x := leading{r.Rollout, r.Location, r.Session, r.Returned, end}
		x.to = min(x.to, removals.from(Semaphore{Node: r.Rollout.Node}, r.Session, 0))
		x.to = min(x.to, h.renewedAfter(Semaphore{Node: r.Rollout.Node, Name: r.Rollout.Name}, r.Called, x.to))
		for j := range h.Requests {
			if other := &h.Requests[j]; other.Kind == Follow && other.Session == r.Session &&
				other.Rollout == r.Rollout && (other.Outcome == Unknown || other.Returned > r.Called) {
				x.to = min(x.to, max(other.Called, r.Called))
			}
		}
		list = append(list, x)
	}
	return list
}
