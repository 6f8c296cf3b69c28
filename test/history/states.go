package history

import (
	"cmp"
	"fmt"
	"slices"
)

// States checks that each displayed state is valid: the owners' counts fit the limit, owners and then waiters are in
// join order, and the first waiter does not fit.
func States(h *History) (found []string) {
	check := func(s Semaphore, at Time, state *State, waiters bool) {
		if wrong := state.wrong(waiters); wrong != "" {
			found = append(found, fmt.Sprintf("%v at %v, revision %d: %s", s, at, state.Revision, wrong))
		}
	}
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Found != nil {
			check(o.Semaphore, o.Returned, o.Found, true)
		}
	}
	for i := range h.Views {
		check(h.Views[i].Semaphore, h.Views[i].At, &h.Views[i].State, false)
	}
	for i := range h.Finals {
		check(h.Finals[i].Semaphore, Never, &h.Finals[i].State, true)
	}
	return found
}

func (s *State) wrong(waiters bool) string {
	if !s.Exists {
		return ""
	}
	free := s.Limit
	before, sessions := uint64(0), make(map[uint64]bool)
	for i, l := range slices.Concat(s.Owners, s.Waiters) {
		switch {
		case l.Order <= before:
			return fmt.Sprintf("%v comes after %d", l, before)
		case sessions[l.Session]:
			return fmt.Sprintf("%v is there twice", l)
		case i < len(s.Owners) && l.Count > free:
			return fmt.Sprintf("%v owns, and only %d was left", l, free)
		case i < len(s.Owners):
			free -= l.Count
		}
		before, sessions[l.Session] = l.Order, true
	}
	if waiters && len(s.Waiters) > 0 && s.Waiters[0].Count <= free {
		return fmt.Sprintf("%v waits at the head, though %d is free", s.Waiters[0], free)
	}
	return ""
}

// observation is a state shown to a client.
type observation struct {
	revision uint64
	at       Time
	state    *State
	of       string
}

// Once checks that nothing takes effect twice. Every workload write has unique data, and every acquire gets a new order
// id. So data or an owner that was replaced must not return in a later revision, and one revision shows the same state
// to all clients.
func Once(h *History) (found []string) {
	observations := make(map[Semaphore][]observation)
	for i := range h.Operations {
		if o := &h.Operations[i]; o.Found != nil && o.Found.Exists {
			observations[o.Semaphore] = append(observations[o.Semaphore],
				observation{o.Found.Revision, o.Returned, o.Found, "a description"})
		}
	}
	for i := range h.Views {
		if v := &h.Views[i]; v.State.Exists {
			observations[v.Semaphore] = append(observations[v.Semaphore], observation{v.State.Revision, v.At, &v.State,
				fmt.Sprintf("watcher %d", v.Watcher)})
		}
	}
	for s, list := range observations {
		slices.SortStableFunc(list, func(a, b observation) int { return cmp.Compare(a.revision, b.revision) })
		found = append(found, repeats(s, list)...)
	}
	return found
}

func repeats(s Semaphore, list []observation) (found []string) {
	gone, lost := make(map[string]bool), make(map[uint64]bool)
	for i, x := range list {
		if i == 0 {
			continue
		}
		before := list[i-1]
		if x.revision == before.revision {
			if x.state.Data != before.state.Data || !slices.Equal(x.state.Owners, before.state.Owners) {
				found = append(found, fmt.Sprintf("%v: revision %d is %+v to %s at %v, and %+v to %s at %v",
					s, x.revision, *x.state, x.of, x.at, *before.state, before.of, before.at))
			}
			continue
		}
		if x.state.Data != before.state.Data {
			gone[before.state.Data] = true
		}
		if x.state.Data != "" && gone[x.state.Data] {
			found = append(found, fmt.Sprintf("%v: %q is there again at revision %d, shown to %s at %v",
				s, x.state.Data, x.revision, x.of, x.at))
		}
		for _, l := range before.state.Owners {
			if !slices.ContainsFunc(x.state.Owners, func(m Link) bool { return m.Order == l.Order }) {
				lost[l.Order] = true
			}
		}
		for _, l := range x.state.Owners {
			if lost[l.Order] {
				found = append(found, fmt.Sprintf("%v: %v owns again at revision %d, shown to %s at %v",
					s, l, x.revision, x.of, x.at))
			}
		}
	}
	return found
}
