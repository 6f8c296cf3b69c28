package history

// Pauses checks that a paused rollout makes no automatic progress, both in its own record and in the displays of
// versions published after the pause was acknowledged and before the resume was sent.
func Pauses(h *History) []string {
	var found findings
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		for _, p := range pausesOf(f) {
			for j := range f.Locations {
				found = append(found, p.check(f, &f.Locations[j])...)
			}
		}
	}
	return append(found, shownWhilePaused(h)...)
}

// pause is the interval between two actions, in shard time.
type pause struct{ from, to uint64 }

// pausesOf returns the pauses of a rollout. Pauses before the first remembered action are missing.
func pausesOf(f *RolloutFinal) (list []pause) {
	from := uint64(0)
	for _, a := range f.Acts {
		switch {
		case a.Verb == verbPause && from == 0:
			from = a.Moment
		case a.Verb == verbResume && from != 0:
			list, from = append(list, pause{from, a.Moment}), 0
		}
	}
	return list
}

func (p pause) check(f *RolloutFinal, l *FinalLocation) (found findings) {
	for _, t := range l.Targets {
		if t.Automatic && t.Assigned > p.from && t.Assigned < p.to {
			found.add(f.Rollout, "%s got version %d by %s at %d, between pause at %d and resume at %d",
				l.Name, t.Seq, t.Cause, t.Assigned, p.from, p.to)
		}
	}
	return found
}

// shownWhilePaused checks versions published during a pause.
func shownWhilePaused(h *History) (found findings) {
	given, _ := targetsOf(h)
	first := make(map[version]*Target)
	for i := range h.Targets { // sorted by time
		t := &h.Targets[i]
		row := given[generation{t.Rollout, t.Generation}]
		if v := (version{t.Rollout, t.Seq}); first[v] == nil && row != nil && row.Automatic {
			first[v] = t
		}
	}
	for i := range h.Requests {
		act := &h.Requests[i]
		if act.Kind != Act || act.Verb != verbPause || act.Outcome != Done {
			continue
		}
		resumed := act.nextResume(h)
		for j := range h.Requests {
			r := &h.Requests[j]
			if r.Kind != Publish || r.Outcome != Done || r.Rollout != act.Rollout || r.Called < act.Returned {
				continue
			}
			if t := first[version{r.Rollout, r.Seq}]; t != nil && t.At < resumed {
				found.add(r.Rollout, "version %d was published at %v, after the pause at %v, "+
					"and shown in %s at %v, before resume was sent at %v", r.Seq, r.Called, act.Returned, t.Location,
					t.At, resumed)
			}
		}
	}
	return found
}

// nextResume returns when a pause's end was sent, or Never. A resume in progress during the pause request counts too.
func (r *Request) nextResume(h *History) Time {
	next := Never
	for i := range h.Requests {
		other := &h.Requests[i]
		if other.Kind == Act && other.Verb == verbResume && other.Rollout == r.Rollout && other.mayHaveTakenEffect() &&
			(other.Returned > r.Called || other.Outcome == Unknown) {
			next = min(next, max(other.Called, r.Called))
		}
	}
	return next
}
