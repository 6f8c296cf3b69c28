package history

// generation is one rollout target.
type generation struct {
	rollout Rollout
	number  uint64
}

// version is one rollout version.
type version struct {
	rollout Rollout
	seq     uint64
}

// Targets checks the targets shown to rollout instances: an instance never sees an older target after a newer target, a
// generation is one version in one location, a version has its publisher's content, and the rollout assigned exactly
// the shown targets. A location returns to an older version only by roll-back.
func Targets(h *History) []string {
	var found findings
	type member struct{ client, number int }
	latest := make(map[member]*Target)
	first := make(map[generation]*Target)
	marks := marksOf(h)
	given, whole := targetsOf(h)
	for i := range h.Targets {
		t := &h.Targets[i]
		m := member{t.Client, t.Member}
		if before := latest[m]; before != nil && t.Generation < before.Generation {
			found.add(t.Rollout, "instance %d of client %d was shown generation %d at %v, and %d at %v",
				t.Member, t.Client, before.Generation, before.At, t.Generation, t.At)
		}
		latest[m] = t
		g := generation{t.Rollout, t.Generation}
		if other := first[g]; other == nil {
			first[g] = t
		} else if other.Location != t.Location || other.Seq != t.Seq || other.Mark != t.Mark {
			found.add(t.Rollout, "generation %d is version %d, %q, in %s at %v, and %d, %q, in %s at %v",
				t.Generation, other.Seq, other.Mark, other.Location, other.At, t.Seq, t.Mark, t.Location, t.At)
		}
		if mark, ok := marks[version{t.Rollout, t.Seq}]; ok && mark != t.Mark {
			found.add(t.Rollout, "at %v version %d is %q, and was published as %q",
				t.At, t.Seq, t.Mark, mark)
		}
		if row := given[g]; row == nil && whole[t.Rollout] || row != nil && row.Seq != t.Seq {
			found.add(t.Rollout, "%s was shown version %d as generation %d at %v; in the end that is %+v",
				t.Location, t.Seq, t.Generation, t.At, row)
		}
	}
	for i := range h.Rollouts {
		found = append(found, checkRows(&h.Rollouts[i])...)
	}
	return found
}

// marksOf returns published marks by seq, as far as publishers know.
func marksOf(h *History) map[version]string {
	marks := make(map[version]string)
	for i := range h.Requests {
		r := &h.Requests[i]
		if (r.Kind == Publish || r.Kind == Offer) && r.Outcome == Done && r.Seq != 0 {
			marks[version{r.Rollout, r.Seq}] = r.Mark
		}
	}
	return marks
}

// targetsOf returns the targets assigned by rollouts. whole reports whether a rollout's list is complete.
func targetsOf(h *History) (given map[generation]*FinalTarget, whole map[Rollout]bool) {
	given, whole = make(map[generation]*FinalTarget), make(map[Rollout]bool)
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		whole[f.Rollout] = true
		for j := range f.Locations {
			l := &f.Locations[j]
			if l.Cut {
				whole[f.Rollout] = false
			}
			for k := range l.Targets {
				given[generation{f.Rollout, l.Targets[k].Generation}] = &l.Targets[k]
			}
		}
	}
	return given, whole
}

// checkRows checks a rollout's targets for consistency.
func checkRows(f *RolloutFinal) (found findings) {
	owner := make(map[uint64]string)
	for i := range f.Locations {
		l := &f.Locations[i]
		var before *FinalTarget
		for j := range l.Targets {
			t := &l.Targets[j]
			if other, ok := owner[t.Generation]; ok {
				found.add(f.Rollout, "generation %d was given to %s and to %s",
					t.Generation, other, l.Name)
			}
			owner[t.Generation] = l.Name
			if before != nil && t.Generation <= before.Generation {
				found.add(f.Rollout, "%s got generation %d after %d",
					l.Name, t.Generation, before.Generation)
			}
			if before != nil && t.Seq < before.Seq && t.Cause != causeRollback {
				found.add(f.Rollout, "%s went back from version %d to %d by %s",
					l.Name, before.Seq, t.Seq, t.Cause)
			}
			before = t
		}
	}
	return found
}
