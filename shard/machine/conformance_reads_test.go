package machine_test

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// pageOf is the page length for lists: short, so that there are many pages.
const pageOf = 2

// checkReads checks that all reads of the machine agree with the expected state, and that Changes lead there from an
// earlier state.
func checkReads(m *machine.Machine, earlier, now *shard.State) error {
	for _, check := range []func(m *machine.Machine, state *shard.State) error{
		checkCounts, checkSessionReads, checkSessionLists, checkSemaphoreReads, checkSemaphoreLists, checkWalks,
	} {
		if err := check(m, now); err != nil {
			return err
		}
	}
	return checkDeltas(m, earlier, now)
}

// ended reports whether a session has ended, with links still to be released.
func ended(state *shard.State, id shard.SessionID) bool {
	return slices.Contains(state.Pending, shard.PendingState{Session: id})
}

// deleted reports whether a semaphore is deleted and still has links.
func deleted(state *shard.State, sem *shard.SemaphoreState) bool {
	return slices.Contains(state.Pending, shard.PendingState{Node: sem.Node, Name: sem.Name, Deleting: true})
}

func countersOf(s *shard.State) shard.Counters {
	return shard.Counters{LastOrder: s.LastOrder, LastRevision: s.LastRevision, LastSession: s.LastSession}
}

func checkCounts(m *machine.Machine, state *shard.State) error {
	want := shard.Counts{
		Nodes: len(state.Nodes), Objects: len(state.Semaphores),
		Counters: countersOf(state), Term: state.Term,
	}
	want.OfKind[shard.KindSemaphore] = len(state.Semaphores)
	for _, s := range state.Sessions {
		if s.Home {
			want.Sessions++
		} else {
			want.RemoteSessions++
		}
	}
	for _, sem := range state.Semaphores {
		want.Links += len(sem.Links)
		for _, l := range sem.Links {
			if !l.Owner {
				want.Waiters++
			}
		}
	}
	if got := m.Count(); got != want {
		return fmt.Errorf("Count: %+v, not %+v", got, want)
	}
	var nodes []shard.NodeID
	for _, n := range state.Nodes {
		nodes = append(nodes, n.ID)
	}
	got := m.Nodes()
	slices.Sort(got)
	if !slices.Equal(got, nodes) {
		return fmt.Errorf("Nodes: %v, not %v", got, nodes)
	}
	return nil
}

// withoutTexts is a view in the form of walks and Session.
func withoutTexts(v shard.SessionView) shard.SessionView {
	v.Details, v.Client = "", shard.ClientState{}
	return v
}

func checkSessionReads(m *machine.Machine, state *shard.State) error {
	for i := range state.Sessions {
		s := &state.Sessions[i]
		view := viewOf(state, s)
		if ended(state, s.ID) {
			if _, known := m.Session(s.ID); known || m.KeyMatches(s.ID, []byte(s.Key)) || s.Home &&
				m.Liveness(s.ID) != shard.Dead {
				return fmt.Errorf("session %v has ended and is there", s.ID)
			}
			continue
		}
		if got, known := m.DescribeSession(s.ID); !known || got != view {
			return fmt.Errorf("DescribeSession %v: %+v, not %+v", s.ID, got, view)
		}
		if got, known := m.Session(s.ID); !known || got != withoutTexts(view) {
			return fmt.Errorf("Session %v: %+v, not %+v", s.ID, got, withoutTexts(view))
		}
		if s.Home && (!m.KeyMatches(s.ID, []byte(s.Key)) || m.KeyMatches(s.ID, []byte(s.Key+"x")) != (s.Key == "")) {
			return fmt.Errorf("KeyMatches of %v is wrong about %q", s.ID, s.Key)
		}
		if s.Home && m.Liveness(s.ID) != shard.Alive {
			return fmt.Errorf("Liveness of %v: %v", s.ID, m.Liveness(s.ID))
		}
		var want, got []shard.Holding
		for _, sem := range state.Semaphores {
			for _, l := range sem.Links {
				if l.Session == s.ID && !deleted(state, &sem) {
					role := "waiter"
					if l.Owner {
						role = "owner"
					}
					want = append(want, shard.Holding{
						Name: sem.Name, Kind: shard.KindSemaphore, Role: role, LinkView: linkView(l),
					})
				}
			}
		}
		slices.SortFunc(want, func(a, b shard.Holding) int { return int(a.Order) - int(b.Order) })
		after := shard.OrderID(0)
		for more := true; more; {
			had := len(got)
			if got, more = m.ListHoldings(s.ID, after, pageOf, got); len(got) > had+pageOf {
				return fmt.Errorf("ListHoldings of %v: a page of %d", s.ID, len(got)-had)
			}
			if len(got) > 0 {
				after = got[len(got)-1].Order
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("ListHoldings of %v: %+v, not %+v", s.ID, got, want)
		}
	}
	return nil
}

func checkSessionLists(m *machine.Machine, state *shard.State) error {
	for _, n := range state.Nodes {
		var want, got []shard.SessionView
		for i := range state.Sessions {
			if s := &state.Sessions[i]; s.Home && s.Node == n.ID && !ended(state, s.ID) {
				want = append(want, viewOf(state, s))
			}
		}
		last := shard.SessionID(0)
		for more := true; more; {
			had := len(got)
			if got, last, more = m.ListSessions(n.ID, last, pageOf, got); len(got) > had+pageOf {
				return fmt.Errorf("ListSessions of %d: a page of %d", n.ID, len(got)-had)
			}
		}
		if !slices.Equal(got, want) {
			return fmt.Errorf("ListSessions of %d: %+v, not %+v", n.ID, got, want)
		}
	}
	return nil
}

func viewOf(state *shard.State, s *shard.SessionState) shard.SessionView {
	view := shard.SessionView{
		ID: s.ID, Node: s.Node, Home: s.Home, Timeout: s.Timeout, Details: s.Details, Keyed: s.Key != "",
		Created: s.Created, Client: s.Client,
	}
	for _, sem := range state.Semaphores {
		for _, l := range sem.Links {
			switch {
			case l.Session != s.ID:
			case l.Owner:
				view.Owns++
			default:
				view.Waits++
			}
		}
	}
	return view
}

func linkView(l shard.LinkState) shard.LinkView {
	view := shard.LinkView{Order: l.Order, Session: l.Session, Count: l.Count, Data: l.Data, Owner: l.Owner,
		Since: l.Since}
	if !l.Owner {
		view.Timeout = l.Timeout
	}
	return view
}

// describe returns the expected Describe and ListSemaphores results for the semaphore.
func describe(sem *shard.SemaphoreState) (shard.Description, shard.SemaphoreView) {
	d := shard.Description{SemaphoreView: sem.SemaphoreView}
	d.Count, d.Owners, d.Waiters = 0, 0, 0
	for _, l := range sem.Links {
		d.Links = append(d.Links, linkView(l))
		if l.Owner {
			d.Owners++
			d.Count += l.Count
		} else {
			d.Waiters++
		}
	}
	return d, d.SemaphoreView
}

func checkSemaphoreReads(m *machine.Machine, state *shard.State) error {
	for i := range state.Semaphores {
		sem := &state.Semaphores[i]
		want, _ := describe(sem)
		var got shard.Description
		if deleted(state, sem) {
			if m.Describe(semaphoreRef(sem.Node, sem.Name), shard.DescribeOptions{}, &got) {
				return fmt.Errorf("semaphore %d/%q is deleted and described", sem.Node, sem.Name)
			}
			continue
		}
		var links []shard.LinkView
		options := shard.DescribeOptions{Owners: true, Waiters: true, Limit: pageOf}
		for more := true; more; more = got.More {
			if !m.Describe(semaphoreRef(sem.Node, sem.Name), options, &got) {
				return fmt.Errorf("Describe %d/%q: not found", sem.Node, sem.Name)
			}
			if len(got.Links) > pageOf {
				return fmt.Errorf("Describe %d/%q: a page of %d", sem.Node, sem.Name, len(got.Links))
			}
			links = append(links, got.Links...)
			if len(links) > 0 {
				options.After = links[len(links)-1].Order
			}
		}
		got.Links, got.More = links, false
		if !reflect.DeepEqual(got, want) {
			return fmt.Errorf("Describe %d/%q: %+v, not %+v", sem.Node, sem.Name, got, want)
		}
	}
	return nil
}

func checkSemaphoreLists(m *machine.Machine, state *shard.State) error {
	for _, n := range state.Nodes {
		for _, prefix := range []string{"", "p"} {
			var want, got []shard.SemaphoreView
			for i := range state.Semaphores {
				if sem := &state.Semaphores[i]; sem.Node == n.ID && strings.HasPrefix(sem.Name, prefix) &&
					!deleted(state, sem) {
					_, view := describe(sem)
					want = append(want, view)
				}
			}
			after := ""
			for more := true; more; {
				had := len(got)
				if got, _, more = semaphore.List(m, n.ID, prefix, after, pageOf, got); len(got) > had+pageOf {
					return fmt.Errorf("ListSemaphores of %d: a page of %d", n.ID, len(got)-had)
				}
				if len(got) > 0 {
					after = got[len(got)-1].Name
				}
			}
			if !slices.Equal(got, want) {
				return fmt.Errorf("ListSemaphores of %d with prefix %q: %+v, not %+v", n.ID, prefix, got, want)
			}
		}
	}
	return nil
}

func checkWalks(m *machine.Machine, state *shard.State) error {
	sessions := make(map[shard.SessionID]shard.SessionView)
	for at, over := shard.Cursor(0), false; !over; {
		at, over = m.WalkSessions(at, func(v shard.SessionView) { sessions[v.ID] = v })
	}
	alive := 0
	for i := range state.Sessions {
		s := &state.Sessions[i]
		if ended(state, s.ID) {
			continue
		}
		alive++
		want := withoutTexts(viewOf(state, s))
		if sessions[s.ID] != want {
			return fmt.Errorf("WalkSessions: %+v, not %+v", sessions[s.ID], want)
		}
	}
	if len(sessions) != alive {
		return fmt.Errorf("WalkSessions: %d sessions, not %d", len(sessions), alive)
	}
	return nil
}

// checkDeltas checks that every semaphore of the earlier state plus its changes equals its current state.
func checkDeltas(m *machine.Machine, earlier, now *shard.State) error {
	var d shard.Delta
	for i := range earlier.Semaphores {
		then := &earlier.Semaphores[i]
		if deleted(earlier, then) {
			continue
		}
		is := semaphoreIn(now, then.Node, then.Name)
		if is != nil && deleted(now, is) {
			is = nil
		}
		kind := m.Changes(semaphoreRef(then.Node, then.Name), then.Revision, &d)
		switch {
		case is == nil:
			if kind != shard.DeltaAbsent || d.To != now.LastRevision {
				return fmt.Errorf("Changes of %d/%q, which is gone: kind %d, to %d", then.Node, then.Name, kind, d.To)
			}
		case is.Revision == then.Revision:
			if kind != shard.DeltaNone {
				return fmt.Errorf("Changes of %d/%q, which did not change: kind %d", then.Node, then.Name, kind)
			}
		case kind == shard.DeltaChanges:
			if err := checkDelta(then, is, &d); err != nil {
				return fmt.Errorf("Changes of %d/%q: %w\n%+v", then.Node, then.Name, err, d)
			}
		case kind != shard.DeltaSnapshot:
			return fmt.Errorf("Changes of %d/%q, which changed: kind %d", then.Node, then.Name, kind)
		}
		if kind := m.Changes(semaphoreRef(then.Node, then.Name), now.LastRevision+1, &d); kind != shard.DeltaBehind {
			return fmt.Errorf("Changes of %d/%q since a revision to come: kind %d", then.Node, then.Name, kind)
		}
	}
	return nil
}

func checkDelta(then, is *shard.SemaphoreState, d *shard.Delta) error {
	if d.To != is.Revision {
		return fmt.Errorf("lead to revision %d, not %d", d.To, is.Revision)
	}
	if d.DataChanged && d.Data != is.Data || !d.DataChanged && then.Data != is.Data {
		return fmt.Errorf("data went from %q to %q", then.Data, is.Data)
	}
	if d.Limit != 0 && d.Limit != is.Limit || d.Limit == 0 && then.Limit != is.Limit {
		return fmt.Errorf("limit went from %d to %d: %d", then.Limit, is.Limit, d.Limit)
	}
	owners := make(map[shard.OrderID]shard.LinkView)
	for _, l := range then.Links {
		if l.Owner {
			owners[l.Order] = linkView(l)
		}
	}
	for _, order := range d.Gone {
		delete(owners, order)
	}
	for _, l := range d.Joined {
		owners[l.Order] = l
	}
	for _, l := range is.Links {
		if !l.Owner {
			continue
		}
		if owners[l.Order] != linkView(l) {
			return fmt.Errorf("owner %d is %+v, not %+v", l.Order, owners[l.Order], linkView(l))
		}
		delete(owners, l.Order)
	}
	if len(owners) > 0 {
		return fmt.Errorf("owners that are none: %+v", owners)
	}
	return nil
}
