package history

import "slices"

// Published checks that rollout changes take effect once: a publish, offer or operator action is present once if
// acknowledged, at most once if the outcome is unknown, and never if refused. Sources are never asked in vain.
func Published(h *History) []string {
	var found findings
	marks := make(map[Rollout]map[string]*Request)
	for i := range h.Requests {
		r := &h.Requests[i]
		if r.Kind != Publish && r.Kind != Offer && r.Kind != Act {
			continue
		}
		if marks[r.Rollout] == nil {
			marks[r.Rollout] = make(map[string]*Request)
		}
		marks[r.Rollout][r.Mark] = r
	}
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		found = append(found, checkVersions(f, marks[f.Rollout])...)
		found = append(found, checkActs(f, marks[f.Rollout])...)
		found = append(found, checkWanted(f, marks[f.Rollout])...)
	}
	return append(found, checkRefused(h, marks)...)
}

// checkVersions compares the versions of a rollout with the requests. Versions that are no longer kept are not visible.
func checkVersions(f *RolloutFinal, asked map[string]*Request) (found findings) {
	seqs := make(map[string]uint64)
	for _, v := range f.Versions {
		if other, ok := seqs[v.Mark]; ok {
			found.add(f.Rollout, "%q is version %d and version %d", v.Mark, other, v.Seq)
		}
		seqs[v.Mark] = v.Seq
		switch r := asked[v.Mark]; {
		case r == nil:
			found.add(f.Rollout, "version %d is %q, which no client published", v.Seq, v.Mark)
		case r.Outcome == Done && r.Seq != v.Seq:
			found.add(f.Rollout, "%q is version %d, and its publisher was answered %d at %v",
				v.Mark, v.Seq, r.Seq, r.Returned)
		case !r.mayHaveTakenEffect():
			found.add(f.Rollout, "version %d is %q, which was refused at %v: %s",
				v.Seq, v.Mark, r.Returned, r.Error)
		}
	}
	if len(f.Versions) == 0 {
		return found
	}
	for mark, r := range asked {
		if _, ok := seqs[mark]; !ok && r.Kind != Act && r.Outcome == Done && r.Seq >= f.firstKept() {
			found.add(f.Rollout, "%q is not there, though it was acknowledged as version %d at %v",
				mark, r.Seq, r.Returned)
		}
	}
	return found
}

// firstKept is the first version from which all versions must be present. Some earlier versions may be present as well:
// versions in use, each in place of a newer one.
func (f *RolloutFinal) firstKept() uint64 {
	first := f.Versions[0].Seq
	if f.Kept == 0 || f.LastSeq <= f.Kept {
		return first
	}
	newest := f.LastSeq - f.Kept
	first = newest + 1
	for _, v := range f.Versions {
		if v.Seq <= newest {
			first++
		}
	}
	return first
}

// checkActs compares the actions remembered by a rollout with the operators' requests.
func checkActs(f *RolloutFinal, asked map[string]*Request) (found findings) {
	numbers := make(map[string]uint64)
	for _, a := range f.Acts {
		r := asked[a.Mark]
		if r == nil {
			continue // the creating action
		}
		if other, ok := numbers[a.Mark]; ok {
			found.add(f.Rollout, "the act %q is number %d and number %d", a.Mark, other, a.Number)
		}
		numbers[a.Mark] = a.Number
		if a.Verb != r.Verb || a.Seq != r.Seq {
			found.add(f.Rollout, "the act %q is %s of %d, and an operator asked for %s of %d",
				a.Mark, a.Verb, a.Seq, r.Verb, r.Seq)
		}
		if !r.mayHaveTakenEffect() {
			found.add(f.Rollout, "the act %q was carried out, and was refused at %v: %s",
				a.Mark, r.Returned, r.Error)
		}
	}
	if len(f.Acts) == 0 || f.Acts[0].Number > 1 {
		return found // the list is incomplete
	}
	for mark, r := range asked {
		if _, ok := numbers[mark]; !ok && r.Kind == Act && r.Outcome == Done {
			found.add(f.Rollout, "the act %q was acknowledged at %v, and is not remembered",
				mark, r.Returned)
		}
	}
	return found
}

// checkRefused checks that no instance is shown a refused version.
func checkRefused(h *History, asked map[Rollout]map[string]*Request) (found findings) {
	for i := range h.Targets {
		t := &h.Targets[i]
		if r := asked[t.Rollout][t.Mark]; r != nil && !r.mayHaveTakenEffect() {
			found.add(t.Rollout, "at %v %s was shown %q, which was refused at %v: %s",
				t.At, t.Location, t.Mark, r.Returned, r.Error)
		}
	}
	return found
}

// checkWanted checks that each version requested from a source, except the newest, was a target of the first location,
// unless an operator prevented that. A long test forgets old actions, so requests count too.
func checkWanted(f *RolloutFinal, asked map[string]*Request) (found findings) {
	entry, acts := &f.Locations[0], slices.Clone(f.Acts)
	for _, r := range asked {
		if r.Kind == Act && r.mayHaveTakenEffect() {
			acts = append(acts, FinalAct{Verb: r.Verb, Seq: r.Seq})
		}
	}
	if entry.Cut || slices.ContainsFunc(acts, func(a FinalAct) bool { return a.Verb == verbBypass }) {
		return nil
	}
	for _, v := range f.Versions {
		got := func(t FinalTarget) bool { return t.Seq == v.Seq }
		forbidden := func(a FinalAct) bool {
			return a.Verb == verbWithdraw && a.Seq == v.Seq || a.Verb == verbRollback && a.Seq < v.Seq
		}
		if r := asked[v.Mark]; r != nil && r.Kind == Offer && v.Seq+1 < f.LastSeq &&
			!slices.ContainsFunc(entry.Targets, got) && !slices.ContainsFunc(acts, forbidden) {
			found.add(f.Rollout, "a source was asked for version %d, %q, and %s never got it",
				v.Seq, v.Mark, entry.Name)
		}
	}
	return found
}
