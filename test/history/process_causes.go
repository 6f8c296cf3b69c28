package history

import (
	"cmp"
	"math"
	"slices"
)

// Causes checks that every new epoch has a cause: between two epochs a member joined, left or was removed, a session
// ended, a round was given up, or an operator acted. Each cause explains at most one epoch, so an epoch caused by a
// reconnect or a leader change is detected.
func Causes(h *History) []string {
	var found findings
	causes, earliest := causesOf(h), earliestOf(h)
	for process, opened := range openedOf(viewsOf(h)) {
		free := slices.Clone(causes[process])
		after := Time(-1) // lower bound for the cause of the next epoch
		for i, c := range opened {
			// Among fitting causes, take the one that fits the fewest later epochs.
			best, bestLast := -1, uint64(0)
			for k := range free {
				if x := &free[k]; x.fits(c, after) {
					if last := x.lastOf(opened[i:], earliest); best < 0 || last < bestLast {
						best, bestLast = k, last
					}
				}
			}
			if best < 0 {
				found.add(process, "epoch %d opened by %v, and nothing caused that since %v", c.Epoch, c.Began, after)
			} else {
				free = slices.Delete(free, best, best+1)
			}
			after = max(after, earliest[c.epoch()])
		}
	}
	slices.Sort(found)
	return found
}

// cause is an event that opens an epoch above from and up to to, within a time interval.
type cause struct {
	from, to    Time
	above, upTo uint64
}

// fits reports whether the cause may have opened an epoch, given that the cause must be later than after.
func (ca *cause) fits(c *ProcessCall, after Time) bool {
	return ca.from < c.Began && ca.to > after && c.Epoch > ca.above && c.Epoch <= ca.upTo
}

// lastOf returns the last of the opened epochs that fits the cause. The first epoch always fits.
func (ca *cause) lastOf(opened []*ProcessCall, earliest map[epochKey]Time) uint64 {
	for i, c := range opened[:len(opened)-1] {
		if !ca.fits(opened[i+1], earliest[c.epoch()]) {
			return c.Epoch
		}
	}
	return opened[len(opened)-1].Epoch
}

// causesOf returns all possible causes of new epochs, per process. A member joined before the first epoch that it
// prepared for, and left after the last.
func causesOf(h *History) map[Process][]cause {
	causes, ends, removed := make(map[Process][]cause), removedBy(h), learnedOf(h)
	joined := joinsOf(h)
	first, last := make(map[memberKey]uint64), make(map[memberKey]uint64)
	for k := range preparedOf(h) {
		m := memberKey{k.process, k.member}
		if e, ok := first[m]; !ok || k.epoch < e {
			first[m] = k.epoch
		}
		last[m] = max(last[m], k.epoch)
	}
	for i := range h.Changes {
		c := &h.Changes[i]
		if c.Kind == MemberCompletes || c.Outcome != Done && c.Outcome != Unknown {
			continue
		}
		m := memberKey{c.Process, c.Member}
		x := cause{c.Called, c.Returned, 0, math.MaxUint64}
		if c.Outcome == Unknown {
			x.to = Never
		}
		switch c.Kind {
		case MemberJoins:
			if e, ok := first[m]; ok {
				x.upTo = e
			}
			if end, ok := ends[c.Session]; ok {
				end.above = last[m]
				if !removed[m] { // may have been removed, and its session ended before it was notified
					end.from, end.to = c.Returned, Never
				}
				causes[c.Process] = append(causes[c.Process], end)
			}
		case MemberLeaves:
			x.above = last[m]
			if join := joined[m]; join != nil { // may have been removed before, without notice
				x.from = join.Called
			}
		case MemberIsOut, OperatorKicks:
			x.above = last[m]
		case MemberFails:
			x.above = c.Epoch
		}
		causes[c.Process] = append(causes[c.Process], x)
	}
	return causes
}

// learnedOf returns members that were notified of their removal, or removed by operators.
func learnedOf(h *History) map[memberKey]bool {
	removed := make(map[memberKey]bool)
	for i := range h.Changes {
		switch c := &h.Changes[i]; c.Kind {
		case MemberLeaves, MemberIsOut, OperatorKicks:
			removed[memberKey{c.Process, c.Member}] = true
		}
	}
	return removed
}

// removedBy returns the intervals in which hosts may have ended the ended sessions.
func removedBy(h *History) map[uint64]cause {
	ends := make(map[uint64]cause)
	for i := range h.Sessions {
		switch s := &h.Sessions[i]; s.End {
		case "":
		case Expired, Ended: // a host said so
			ends[s.ID] = cause{s.From, s.To, 0, math.MaxUint64}
		default: // the host ends the session after a notification or a long silence
			ends[s.ID] = cause{s.To, Never, 0, math.MaxUint64}
		}
	}
	return ends
}

// earliestOf returns, per epoch, a time at which the epoch certainly had not opened: when an accepted message of an
// earlier epoch was sent, or a member of the epoch began to join.
func earliestOf(h *History) map[epochKey]Time {
	joined, accepted := joinsOf(h), make(map[Process][]acceptance)
	members := make(map[epochKey]Time) // latest join start among the seen members
	for k := range preparedOf(h) {
		if join := joined[memberKey{k.process, k.member}]; join != nil {
			members[k.epochKey] = max(members[k.epochKey], join.Called)
		}
	}
	for _, a := range acceptedOf(h) {
		accepted[a.process] = append(accepted[a.process], a)
	}
	earliest := make(map[epochKey]Time)
	for process, opened := range openedOf(viewsOf(h)) {
		list := accepted[process]
		slices.SortFunc(list, func(a, b acceptance) int { return cmp.Compare(a.epoch, b.epoch) })
		at, next := Time(-1), 0
		for _, c := range opened {
			for ; next < len(list) && list[next].epoch < c.Epoch; next++ {
				at = max(at, list[next].called)
			}
			at = max(at, members[c.epoch()])
			earliest[c.epoch()] = at
		}
	}
	return earliest
}
