package history

// Reached checks that a location gets its next version when its leaders have reached the one before, and no earlier:
// what was reached, an instance has reported; and an instance that was a leader all the time from the target before to
// the next one has.
func Reached(h *History) []string {
	var found findings
	reports, leaders := reportsOf(h), leadingOf(h)
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		shown := firstShown(h, f)
		for j := range f.Locations {
			l := &f.Locations[j]
			for k := range l.Targets {
				t := &l.Targets[k]
				g := generation{f.Rollout, t.Generation}
				if t.Reached != 0 && !t.Waived && len(reports[g]) == 0 {
					found.add(f.Rollout, "%s reached generation %d, and no instance began to report it",
						l.Name, t.Generation)
				}
				if k+1 == len(l.Targets) || l.Targets[k+1].Cause != causeNext {
					continue
				}
				next := &l.Targets[k+1]
				if t.Reached == 0 || t.Abandoned != 0 || t.Reached > next.Assigned {
					found.add(f.Rollout, "%s got generation %d, at %d, as the next of %+v",
						l.Name, next.Generation, next.Assigned, *t)
				}
				if from, to := shown[t.Generation], shown[next.Generation]; from != nil && to != nil {
					found = append(found, behind(g, from, to, reports[g], leaders)...)
				}
			}
		}
	}
	return found
}

// reportsOf returns when each session began for the first time to report that it has reached a generation.
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

// leading is a time in which an instance certainly was a leader.
type leading struct {
	rollout  Rollout
	location string
	session  uint64
	from, to Time
}

// leadingOf returns when which instances led, one session after the other.
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

// behind returns the leaders that have not begun to report a generation when the next one was shown.
func behind(g generation, from, to *Target, reports map[uint64]Time, all []leading) (found findings) {
	for _, x := range all {
		if x.rollout != g.rollout || x.location != from.Location || x.from > from.At || x.to < to.At {
			continue
		}
		if at, ok := reports[x.session]; !ok || at > to.At {
			found.add(g.rollout, "%s was shown generation %d at %v and %d at %v, and session %x, "+
				"which led from %v to %v, had not begun to report %d", from.Location, g.number, from.At,
				to.Generation, to.At, x.session, x.from, x.to, g.number)
		}
	}
	return found
}
