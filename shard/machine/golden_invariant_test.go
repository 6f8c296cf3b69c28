package machine_test

import (
	"fmt"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/machine"
	"github.com/signalbox/signalbox/shard/machine/machinetest"
	"github.com/signalbox/signalbox/shard/semaphore"
)

// goldenFaults collects violations in a machine after a batch.
type goldenFaults []string

func (f *goldenFaults) must(ok bool, format string, args ...any) {
	if !ok {
		*f = append(*f, fmt.Sprintf(format, args...))
	}
}

// checkGolden checks the invariants: in a batch's effects, in the state after it, and in the reads of that state.
func checkGolden(g *goldenMachine, commands []shard.Command, effects []shard.Effect) error {
	var f goldenFaults
	s := g.State()
	f.effects(&g.before, &s, commands, effects)
	f.counters(&g.before, &s)
	sessions := f.sessions(&s)
	f.semaphores(&s, sessions)
	f.nodes(&s)
	f.count(g.Count(), &s)
	f.reads(g.Machine, &s)
	if err := machinetest.CheckLeaks(g.Machine); err != nil {
		f = append(f, err.Error())
	}
	if len(f) > 0 {
		return fmt.Errorf("%s is broken: %q", g.name, []string(f))
	}
	return nil
}

// effects: one result per command, in order, and revisions without gaps.
func (f *goldenFaults) effects(before, after *shard.State, commands []shard.Command, effects []shard.Effect) {
	results, op, revision := 0, int32(0), before.LastRevision
	for _, e := range effects {
		f.must(e.Op == op || e.Op == op+1 && results == int(e.Op), "effects of command %d are out of place", e.Op)
		op = e.Op
		switch e.Kind {
		case shard.EffectResult:
			f.must(results == int(op), "command %d has no result or two", op)
			results++
		case shard.EffectChanged:
			revision++
			f.must(e.Revision == revision, "revision %d should be %d", e.Revision, revision)
		}
	}
	f.must(results == len(commands), "%d results of %d commands", results, len(commands))
	if slices.ContainsFunc(commands, func(c shard.Command) bool { return isSlotCommand(c.Kind) }) {
		return // a slot brings revisions along
	}
	f.must(revision == after.LastRevision, "the last revision is %d and %d were told", after.LastRevision, revision)
}

func (f *goldenFaults) counters(before, after *shard.State) {
	f.must(before.LastOrder <= after.LastOrder && before.LastRevision <= after.LastRevision &&
		before.LastSession <= after.LastSession && before.Term <= after.Term, "a counter went back")
}

func (f *goldenFaults) sessions(s *shard.State) map[shard.SessionID]*shard.SessionState {
	byID := make(map[shard.SessionID]*shard.SessionState)
	last := shard.SessionID(0)
	for i := range s.Sessions {
		x := &s.Sessions[i]
		f.must(x.ID > last, "sessions are not sorted at %v", x.ID)
		last = x.ID
		byID[x.ID] = x
		f.must(x.Acked <= x.Applied, "session %v acknowledged #%d and applied #%d", x.ID, x.Acked, x.Applied)
		if x.Home {
			f.must(x.ID.Counter() <= s.LastSession, "session %v is from the future", x.ID)
		} else {
			f.must(x.Timeout == 0 && x.Details == "" && x.Key == "", "remote %v has what only its home has", x.ID)
		}
		f.must(len(x.Answers) <= shard.MaxUnacknowledged, "session %v has %d answers", x.ID, len(x.Answers))
		number := x.Acked
		for _, a := range x.Answers {
			f.must(a.Number > number && a.Number <= x.Applied, "answer #%d of %v is out of place", a.Number, x.ID)
			number = a.Number
		}
	}
	return byID
}

func (f *goldenFaults) semaphores(s *shard.State, sessions map[shard.SessionID]*shard.SessionState) {
	orders := make(map[shard.OrderID]bool)
	revisions := make(map[shard.Revision]bool)
	for i := range s.Semaphores {
		x := &s.Semaphores[i]
		f.must(x.Revision > 0 && x.Revision <= s.LastRevision && !revisions[x.Revision],
			"semaphore %s has revision %d, which is another's or was never given", x.Name, x.Revision)
		revisions[x.Revision] = true
		pending := slices.ContainsFunc(s.Pending, func(p shard.PendingState) bool {
			return p.Node == x.Node &&
				p.Name == x.Name
		})
		f.must(pending || !x.Ephemeral || len(x.Links) > 0 && x.Links[0].Owner, "ephemeral semaphore %s has no owner",
			x.Name)
		held, waiting, last := uint64(0), false, shard.OrderID(0)
		const most = shard.Forever // the limit may have been lowered since
		here := make(map[shard.SessionID]bool)
		for _, l := range x.Links {
			f.must(l.Order > last && l.Order <= s.LastOrder && !orders[l.Order], "order id %d of %s is out of place",
				l.Order, x.Name)
			last, orders[l.Order] = l.Order, true
			session := sessions[l.Session]
			f.must(session != nil && session.Node == x.Node && l.Number <= session.Applied && !here[l.Session],
				"session %v has no business at %s", l.Session, x.Name)
			here[l.Session] = true
			switch {
			case l.Owner:
				f.must(!waiting, "an owner of %s stands behind a waiter", x.Name)
				f.must(l.Count > 0 && l.Count <= most-held, "owners of %s have more than its limit", x.Name)
				held += min(most-held, l.Count)
			case !waiting:
				waiting = true
				f.must(pending || l.Count <= x.Limit, "the head of %s waits for more than its limit", x.Name)
				f.must(pending || held > x.Limit || l.Count > x.Limit-held, "the head of %s fits and waits", x.Name)
			}
		}
	}
}

// nodes: known nodes are those with contents here, and those being dropped.
func (f *goldenFaults) nodes(s *shard.State) {
	inUse := make(map[shard.NodeID]bool)
	for i := range s.Sessions {
		inUse[s.Sessions[i].Node] = true
	}
	for i := range s.Semaphores {
		inUse[s.Semaphores[i].Node] = true
	}
	for i := range s.Objects {
		inUse[s.Objects[i].Node] = true
	}
	for _, n := range s.Nodes {
		f.must(inUse[n.ID] || n.Dropping || n.ObjectLimit+n.ByteLimit > 0, "node %d is known for nothing", n.ID)
		delete(inUse, n.ID)
	}
	f.must(len(inUse) == 0, "nodes %v are not known", inUse)
}

func (f *goldenFaults) count(got shard.Counts, s *shard.State) {
	want := shard.Counts{
		Nodes: len(s.Nodes), Objects: len(s.Semaphores) + len(s.Objects),
		Counters: countersOf(s), Term: s.Term,
	}
	want.OfKind[shard.KindSemaphore] = len(s.Semaphores)
	for i := range s.Sessions {
		if s.Sessions[i].Home {
			want.Sessions++
		} else {
			want.RemoteSessions++
		}
	}
	for i := range s.Semaphores {
		want.Links += len(s.Semaphores[i].Links)
		for _, l := range s.Semaphores[i].Links {
			if !l.Owner {
				want.Waiters++
			}
		}
	}
	for i := range s.Objects {
		want.OfKind[s.Objects[i].Kind]++
		want.Links += len(s.Objects[i].Links)
	}
	f.must(got == want, "counted %+v, there are %+v", got, want)
}

// reads reads everything in pages of two and compares it with State.
func (f *goldenFaults) reads(m *machine.Machine, s *shard.State) {
	listed := make(map[shard.NodeID][]shard.SemaphoreView)
	for _, n := range s.Nodes {
		after := ""
		for more := true; more; {
			var page []shard.SemaphoreView
			page, _, more = semaphore.List(m, n.ID, "", after, 2, nil)
			listed[n.ID] = append(listed[n.ID], page...)
			if len(page) > 0 {
				after = page[len(page)-1].Name
			}
		}
	}
	owns, waits, gone := make(map[shard.SessionID]int), make(map[shard.SessionID]int), make(map[shard.SessionID]int)
	for i := range s.Objects {
		for _, l := range s.Objects[i].Links {
			owns[l.Session]++
		}
	}
	for i := range s.Semaphores {
		x := &s.Semaphores[i]
		if deleted(s, x) {
			for _, l := range x.Links {
				gone[l.Session]++
				if l.Owner {
					owns[l.Session]++
				} else {
					waits[l.Session]++
				}
			}
			continue
		}
		list := listed[x.Node]
		f.must(len(list) > 0 && list[0].Name == x.Name && list[0].Revision == x.Revision,
			"%s is not listed where it should be", x.Name)
		if len(list) > 0 {
			listed[x.Node] = list[1:]
		}
		links := describeAll(m, x.Node, x.Name, shard.DescribeOptions{Owners: true, Waiters: true, Limit: 2})
		f.must(len(links) == len(x.Links), "%s is described with %d of %d links", x.Name, len(links), len(x.Links))
		for j := range min(len(links), len(x.Links)) {
			l, v := x.Links[j], links[j]
			if l.Owner {
				owns[l.Session]++
			} else {
				waits[l.Session]++
			}
			f.must(v.Order == l.Order && v.Session == l.Session && v.Count == l.Count && v.Data == l.Data &&
				v.Owner == l.Owner,
				"%s is described with %+v, not %+v", x.Name, v, l)
		}
	}
	for _, list := range listed {
		f.must(len(list) == 0, "%+v are listed and not there", list)
	}
	for i := range s.Sessions {
		id, after, found := s.Sessions[i].ID, shard.OrderID(0), 0
		if ended(s, id) {
			continue
		}
		for more := true; more; {
			var page []shard.Holding
			page, more = m.ListHoldings(id, after, 2, nil)
			found += len(page)
			for _, h := range page {
				f.must(h.Session == id && h.Order > after, "holding %+v of %v is out of place", h, id)
				after = h.Order
			}
		}
		v, known := m.Session(id)
		f.must(known && v.Owns == owns[id] && v.Waits == waits[id] && found == v.Owns+v.Waits-gone[id],
			"%v has %d holdings, owns %d and waits for %d, not %d and %d",
			id, found, v.Owns, v.Waits, owns[id], waits[id])
	}
}

// describeAll reads a semaphore's links page by page.
func describeAll(m *machine.Machine, n shard.NodeID, name string, o shard.DescribeOptions) []shard.LinkView {
	var all []shard.LinkView
	for more := true; more; {
		var d shard.Description
		if !m.Describe(semaphoreRef(n, name), o, &d) {
			return all
		}
		all = append(all, d.Links...)
		if more = d.More; more {
			o.After = d.Links[len(d.Links)-1].Order
		}
	}
	return all
}
