package history

import (
	"cmp"
	"slices"
)

// Epochs checks that epochs are exclusive: after an epoch opens, messages sent later in an older epoch are rejected,
// and accepted messages come from members of the epoch. So two coordinators are never heard at once. No epoch begins
// with fewer members than required.
func Epochs(h *History) []string {
	var found findings
	views, prepared := viewsOf(h), preparedOf(h)
	opened := openedOf(views)
	for _, f := range h.Processes {
		for _, c := range opened[f.Process] {
			if c.Size < f.Least {
				found.add(f.Process, "epoch %d opened with %d members, and needs %d", c.Epoch, c.Size, f.Least)
			}
		}
	}
	for _, a := range acceptedOf(h) {
		for _, next := range opened[a.process] {
			if next.Epoch > a.epoch && next.Began < a.called {
				found.add(a.process, "%s of member %d was accepted in epoch %d, sent at %v: epoch %d had opened by %v",
					a.what, a.member, a.epoch, a.called, next.Epoch, next.Began)
				break
			}
		}
		if !prepared[preparedKey{a.epochKey, a.member}] {
			found.add(a.process, "%s of member %d was accepted in epoch %d, which it has not prepared for", a.what,
				a.member, a.epoch)
		}
	}
	return append(found, checkResults(h, views)...)
}

// openedOf returns the first prepare call per epoch, in epoch order, for each process.
func openedOf(views map[epochKey]*ProcessCall) map[Process][]*ProcessCall {
	opened := make(map[Process][]*ProcessCall)
	for k, c := range views {
		opened[k.process] = append(opened[k.process], c)
	}
	for _, list := range opened {
		slices.SortFunc(list, func(a, b *ProcessCall) int { return cmp.Compare(a.Epoch, b.Epoch) })
	}
	return opened
}

// preparedKey is a member in an epoch.
type preparedKey struct {
	epochKey
	member uint64
}

// preparedOf returns the members that began to prepare, per epoch.
func preparedOf(h *History) map[preparedKey]bool {
	prepared := make(map[preparedKey]bool)
	for i := range h.Calls {
		if c := &h.Calls[i]; c.Kind == CallPrepare {
			prepared[preparedKey{c.epoch(), c.Member}] = true
		}
	}
	return prepared
}

// acceptance is a message certainly accepted in an epoch.
type acceptance struct {
	epochKey
	member uint64
	what   string
	called Time
}

// acceptedOf returns accepted messages: exchanges that ended normally or had a handled request, and completions shown
// to members.
func acceptedOf(h *History) (list []acceptance) {
	handled, completed := make(map[markKey]bool), make(map[epochKey]bool)
	for i := range h.Calls {
		switch c := &h.Calls[i]; c.Kind {
		case CallRequest:
			handled[markKey{c.Process, c.Mark}] = true
		case CallComplete:
			completed[c.epoch()] = true
		}
	}
	for i := range h.Exchanges {
		x := &h.Exchanges[i]
		if x.Wanted > 0 && x.Outcome == Done || handled[markKey{x.Process, x.Mark}] {
			list = append(list, acceptance{epochKey{x.Process, x.Epoch}, x.Member, x.Mark, x.Called})
		}
	}
	for i := range h.Changes {
		if c := &h.Changes[i]; c.Kind == MemberCompletes && completed[epochKey{c.Process, c.Epoch}] {
			list = append(list, acceptance{epochKey{c.Process, c.Epoch}, c.Member, "the result", c.Called})
		}
	}
	return list
}

// checkResults checks three rules: a result is the return value of the epoch's coordinator, no round is both completed
// and cancelled, and no result shown to a member is lost.
func checkResults(h *History, views map[epochKey]*ProcessCall) (found findings) {
	returned := make(map[epochKey]*ProcessChange)
	for i := range h.Changes {
		c := &h.Changes[i]
		if c.Kind != MemberCompletes {
			continue
		}
		k := epochKey{c.Process, c.Epoch}
		if v := views[k]; v != nil && v.Coordinator != c.Member {
			found.add(c.Process, "member %d coordinated epoch %d, and its coordinator is %d", c.Member, c.Epoch,
				v.Coordinator)
		}
		returned[k] = c
	}
	shown := make(map[epochKey]*ProcessCall)
	for i := range h.Calls {
		c := &h.Calls[i]
		if c.Kind != CallComplete {
			continue
		}
		shown[c.epoch()] = c
		if r := returned[c.epoch()]; r == nil || r.Mark != c.Mark || r.Called > c.Began {
			found.add(c.Process, "member %d was shown at %v that epoch %d is complete with %q, and its coordinator "+
				"returned %+v", c.Member, c.Began, c.Epoch, c.Mark, r)
		}
	}
	found = append(found, checkKept(h, returned, shown)...)
	for m, calls := range callsOf(h) {
		for i, c := range calls[:max(len(calls)-1, 0)] {
			if other := shown[c.epoch()]; c.Kind == CallCancel && other != nil && calls[i+1].Kind != CallTerminate {
				found.add(m, "epoch %d was cancelled, and complete for member %d", c.Epoch, other.Member)
			}
		}
	}
	return found
}

// checkKept compares the results kept by processes with coordinators' return values and results shown to members.
func checkKept(h *History, returned map[epochKey]*ProcessChange, shown map[epochKey]*ProcessCall) (found findings) {
	for i := range h.Processes {
		f := &h.Processes[i]
		kept := make(map[uint64]bool)
		for _, r := range f.Results {
			kept[r.Epoch] = true
			if c := returned[epochKey{f.Process, r.Epoch}]; c == nil || c.Mark != r.Mark {
				found.add(f.Process, "the result of epoch %d is %q, and its coordinator returned %+v", r.Epoch, r.Mark,
					c)
			}
		}
		for k, c := range shown {
			before := k.process == f.Process && k.epoch <= f.Epoch // a later epoch began after the process was read
			if before && !kept[k.epoch] && (len(f.Results) < f.Kept || k.epoch > f.Results[0].Epoch) {
				found.add(f.Process, "the result %q of epoch %d, which member %d was shown at %v, is not kept", c.Mark,
					k.epoch, c.Member, c.Began)
			}
		}
	}
	return found
}
