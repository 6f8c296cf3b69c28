package history

import "slices"

// Rounds checks the final state, after all faults: the round of each process is complete, its members are the members
// that clients believe in, and each member has handled the completion. Every client that works with processes has a
// member in each process.
//
// Too few members are accepted if too few clients have sessions (a restarted client may have found no host); such a
// process forms a round and waits. A round may also wait for a member whose session was possibly known to lost hosts
// only: the end of that session stays undecided for half an hour.
func Rounds(h *History) []string {
	var found findings
	calls := callsOf(h)
	for i := range h.Processes {
		f := &h.Processes[i]
		if slices.ContainsFunc(f.Members, func(m FinalMember) bool { return h.isUndecided(m.Session, f.At) }) {
			found = append(found, checkParts(h, f)...)
			continue
		}
		if len(f.Members) < f.Least && clientsAt(h, f.At) < f.Least {
			found = append(found, checkFew(f)...)
			found = append(found, checkParts(h, f)...)
			continue
		}
		if len(f.Parts) > 0 && (f.State != StateComplete || len(f.Results) == 0 ||
			f.Results[len(f.Results)-1].Epoch != f.Epoch) {
			found.add(f.Process, "in the end epoch %d is %s, with %d members and the results %v", f.Epoch, f.State,
				len(f.Members), f.Results)
		}
		found = append(found, checkParts(h, f)...)
		found = append(found, checkCompleted(f)...)
		for _, p := range f.Parts {
			list := calls[memberKey{f.Process, p.Member}]
			ended := func(c *ProcessCall) bool {
				return c.Kind == CallComplete && c.Epoch == f.Epoch && c.Ended != 0
			}
			if !slices.ContainsFunc(list, ended) {
				found.add(f.Process, "in the end member %d has not handled that epoch %d is complete", p.Member,
					f.Epoch)
			}
		}
	}
	return found
}

// checkParts compares the members of a process with the members that clients believe in.
func checkParts(h *History, f *ProcessFinal) (found findings) {
	for i := range h.Changes {
		kicked := func(m FinalMember) bool { return m.Member == h.Changes[i].Member }
		if c := &h.Changes[i]; c.Kind == OperatorKicks && c.Process == f.Process && c.Outcome == Done &&
			slices.ContainsFunc(f.Members, kicked) {
			found.add(f.Process, "in the end %d is a member, and was kicked by %v", c.Member, c.Returned)
		}
	}
	joined := make(map[uint64]bool)
	for _, p := range f.Parts {
		joined[p.Member] = true
		if !slices.ContainsFunc(f.Members, func(m FinalMember) bool { return m.Member == p.Member }) {
			found.add(f.Process, "in the end %d of session %x believes that it is a member, and is none", p.Member,
				p.Session)
		}
	}
	for _, m := range f.Members {
		if !joined[m.Member] && !h.isUndecided(m.Session, f.At) {
			found.add(f.Process, "in the end %d of session %x is a member, and does not know it", m.Member, m.Session)
		}
	}
	return found
}

// clientsAt counts the clients with a session at a given time.
func clientsAt(h *History, at Time) int {
	clients := make(map[int]bool)
	for _, s := range h.Sessions {
		if s.From <= at && at < s.To {
			clients[s.Client] = true
		}
	}
	return len(clients)
}

// checkCompleted checks that each member has handled the completion of the last round.
func checkCompleted(f *ProcessFinal) (found findings) {
	for _, m := range f.Members {
		if m.Completed != f.Epoch {
			found.add(f.Process, "in the end member %d has confirmed the completion of epoch %d, and the last is %d",
				m.Member, m.Completed, f.Epoch)
		}
	}
	return found
}

// checkFew checks a process with too few members for a round.
func checkFew(f *ProcessFinal) (found findings) {
	if len(f.Parts) > 0 && f.State != StateForming {
		found.add(f.Process, "in the end epoch %d is %s, with %d members, and a round needs %d", f.Epoch, f.State,
			len(f.Members), f.Least)
	}
	return found
}
