package history

import (
	"cmp"
	"slices"
)

// Handlers checks handler calls per member: calls never overlap; each epoch starts with prepare, followed by requests
// and a final complete or cancel, before the next epoch begins. All members of an epoch see the same member count and
// the same coordinator, the first eligible member.
func Handlers(h *History) []string {
	var found findings
	for m, calls := range callsOf(h) {
		r := rounds{memberKey: m}
		for _, c := range calls {
			r.next(c)
		}
		found = append(found, r.found...)
	}
	slices.Sort(found)
	return append(found, checkViews(h)...)
}

// callsOf returns the calls per member, in order.
func callsOf(h *History) map[memberKey][]*ProcessCall {
	calls := make(map[memberKey][]*ProcessCall)
	for i := range h.Calls {
		c := &h.Calls[i]
		calls[c.member()] = append(calls[c.member()], c)
	}
	for _, list := range calls {
		slices.SortFunc(list, func(a, b *ProcessCall) int { return cmp.Compare(a.Place, b.Place) })
	}
	return calls
}

// rounds is the progress of a member.
type rounds struct {
	memberKey
	epoch       uint64 // last prepared epoch
	open        bool   // the round has not ended
	coordinator uint64
	coordinated bool
	over        bool
	last        *ProcessCall // last sequential call
	found       findings
}

// next takes in the next call.
func (r *rounds) next(c *ProcessCall) {
	wrong := func(why string) {
		r.found.add(r, "at %v %s of epoch %d %s; it stands at epoch %d", c.Began, c.Kind, c.Epoch, why, r.epoch)
	}
	if r.over {
		wrong("comes after the end of the member")
	}
	if c.Kind != CallCoordinate { // the coordinator handles requests meanwhile
		if r.last != nil && (r.last.Ended == 0 || r.last.Ended > c.Began) {
			wrong("begins before the call before has returned")
		}
		r.last = c
	}
	switch c.Kind {
	case CallPrepare:
		if r.open {
			wrong("comes before the end of the round before")
		}
		if c.Epoch <= r.epoch {
			wrong("is not of a later epoch")
		}
		r.epoch, r.open, r.coordinated, r.coordinator = c.Epoch, true, false, c.Coordinator
		return
	case CallTerminate:
		if r.open {
			wrong("comes before the end of the round")
		}
		r.over = true
		return
	}
	if c.Epoch != r.epoch || !r.open {
		wrong("is not of the round that is open")
	}
	switch c.Kind {
	case CallCoordinate:
		if r.coordinated || r.coordinator != r.id {
			wrong("comes twice, or to another than the coordinator")
		}
		r.coordinated = true
	case CallComplete, CallCancel:
		r.open = false
	}
}

// checkViews compares the members' views of an epoch.
func checkViews(h *History) (found findings) {
	views, joined, members := viewsOf(h), joinsOf(h), make(map[epochKey]map[uint64]bool)
	for i := range h.Calls {
		c := &h.Calls[i]
		if c.Kind != CallPrepare {
			continue
		}
		first := views[c.epoch()]
		if c.Coordinator != first.Coordinator || c.Size != first.Size {
			found.add(c.Process, "epoch %d has %d members and %d as coordinator for member %d, and %d and %d for %d",
				c.Epoch, first.Size, first.Coordinator, first.Member, c.Size, c.Coordinator, c.Member)
		}
		if members[c.epoch()] == nil {
			members[c.epoch()] = make(map[uint64]bool)
		}
		for _, id := range append([]uint64{c.Member}, c.View...) {
			members[c.epoch()][id] = true
			found = append(found, checkMember(c, id, joined[memberKey{c.Process, id}])...)
		}
	}
	for k, list := range members {
		if c := views[k]; len(list) > c.Size {
			found.add(k.process, "epoch %d has %d members, and %d were seen", k.epoch, c.Size, len(list))
		}
	}
	return found
}

// checkMember checks that a member may take part in an epoch with its coordinator. The join is unknown if its client
// got no answer.
func checkMember(c *ProcessCall, id uint64, join *ProcessChange) (found findings) {
	switch {
	case id >= c.Epoch:
		found.add(c.Process, "epoch %d has member %d, which joined later", c.Epoch, id)
	case join != nil && (id < c.Coordinator && join.Candidate || id == c.Coordinator && !join.Candidate):
		found.add(c.Process, "epoch %d has %d as coordinator, and that its member %d is a candidate is %v", c.Epoch,
			c.Coordinator, id, join.Candidate)
	}
	return found
}

// viewsOf returns the first prepare call per epoch.
func viewsOf(h *History) map[epochKey]*ProcessCall {
	first := make(map[epochKey]*ProcessCall)
	for i := range h.Calls { // sorted by time
		if c := &h.Calls[i]; c.Kind == CallPrepare && first[c.epoch()] == nil {
			first[c.epoch()] = c
		}
	}
	return first
}

// joinsOf returns the join of each member.
func joinsOf(h *History) map[memberKey]*ProcessChange {
	joined := make(map[memberKey]*ProcessChange)
	for i := range h.Changes {
		if c := &h.Changes[i]; c.Kind == MemberJoins && c.Outcome == Done {
			joined[memberKey{c.Process, c.Member}] = c
		}
	}
	return joined
}
