package history

import (
	"slices"
)

// Converged checks the final state, with no faults or blocks left: every location with instances has reached the newest
// version, every instance was shown it, and the rollout's instances are exactly the instances that clients believe in,
// without ended sessions. A location without instances blocks later locations, unless bypassed.
func Converged(h *History) []string {
	var found findings
	for i := range h.Rollouts {
		f := &h.Rollouts[i]
		heldUp := false
		for j := range f.Locations {
			l := &f.Locations[j]
			t := l.last()
			used := slices.ContainsFunc(f.Participants, func(p Participant) bool { return p.Location == l.Name })
			switch {
			case l.Bypassed || t != nil && t.Seq == f.LastSeq && t.Reached != 0:
			case !used:
				heldUp = true
			case heldUp:
			case t == nil:
				found.add(f.Rollout, "in the end %s has no target", l.Name)
			default:
				found.add(f.Rollout, "in the end %s, with %d leaders, has %+v, and there is version %d",
					l.Name, l.Leaders, *t, f.LastSeq)
			}
		}
		found = append(found, checkMembers(f)...)
		found = append(found, checkShown(h, f)...)
	}
	return found
}

// checkMembers compares the instances of a rollout with the instances that clients believe in.
func checkMembers(f *RolloutFinal) (found findings) {
	joined := make(map[uint64]bool)
	for _, p := range f.Participants {
		joined[p.Session] = true
		if !slices.Contains(f.Members, p.Session) {
			found.add(f.Rollout, "in the end session %x believes that it is an instance, and is none",
				p.Session)
		}
	}
	for _, session := range f.Members {
		if !joined[session] {
			found.add(f.Rollout, "in the end session %x is an instance, and does not know it",
				session)
		}
	}
	return found
}

// checkShown checks that each joined instance was last shown its location's target.
func checkShown(h *History, f *RolloutFinal) (found findings) {
	last := make(map[Participant]*Target)
	for i := range h.Targets { // sorted by time
		if t := &h.Targets[i]; t.Rollout == f.Rollout && t.At < f.At {
			last[Participant{Client: t.Client, Member: t.Member}] = t
		}
	}
	for _, p := range f.Participants {
		l := f.location(p.Location)
		if l == nil || l.last() == nil {
			continue
		}
		shown := last[Participant{Client: p.Client, Member: p.Member}]
		switch t := l.last(); {
		case shown == nil:
			found.add(f.Rollout, "instance %d of client %d, in %s, was never shown a target",
				p.Member, p.Client, l.Name)
		case shown.Generation != t.Generation:
			found.add(f.Rollout, "instance %d of client %d, in %s, was shown generation %d last, at %v; "+
				"there is %d", p.Member, p.Client, l.Name, shown.Generation, shown.At, t.Generation)
		}
	}
	return found
}

func (f *RolloutFinal) location(name string) *FinalLocation {
	for i := range f.Locations {
		if f.Locations[i].Name == name {
			return &f.Locations[i]
		}
	}
	return nil
}
