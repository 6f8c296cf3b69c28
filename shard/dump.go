package shard

import (
	"cmp"
	"slices"
)

// State writes out all that the machine holds. It holds the read lock for as long as that takes: it is
// meant for tests and tools, not for a machine at work.
func (m *Machine) State() State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := State{
		LastOrder: m.lastOrder, LastRevision: m.lastRevision,
		LastSession: m.lastSession, Term: m.term, Level: m.level, Pending: m.pendingState(),
		ObjectLimit: m.limits.Objects, ByteLimit: m.limits.Bytes,
	}
	for _, n := range m.nodes {
		s.Nodes = append(s.Nodes, NodeState{
			ID: n.id, Dropping: n.dropping, ObjectLimit: n.limits.Objects, ByteLimit: n.limits.Bytes,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b NodeState) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range s.Nodes {
		for h := m.sessions.byID.first(m.nodes[n.ID].ids); h != 0; h = m.sessions.byID.next(h) {
			s.Sessions = append(s.Sessions, m.sessions.at(h).state())
		}
		for h := m.objects.byName.first(m.nodes[n.ID].names); h != 0; h = m.objects.byName.next(h) {
			m.kinds[m.objects.at(h).kind].state(m, h, &s)
		}
	}
	slices.SortFunc(s.Sessions, func(a, b SessionState) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

func (s *session) state() SessionState {
	out := SessionState{
		ID: s.id, Node: s.node.id, Home: s.home, Timeout: uint64(s.timeout),
		Description: s.description, Key: string(s.key[:s.keyLen]),
		Applied: s.applied, Acked: s.acked, Created: s.created, Client: s.client,
	}
	for _, a := range s.answers {
		out.Answers = append(out.Answers, AnswerState{
			Number: a.number, Status: a.status, Flags: a.flags, Abort: a.abort,
			Order: a.order, Revision: a.revision, Quota: a.quota,
		})
	}
	return out
}

func (st *semaphores) state(m *Machine, object handle, s *State) {
	o := m.objects.at(object)
	body := st.at(o.body)
	out := SemaphoreState{
		Node: o.node.id, Name: o.name, Data: body.data, Limit: body.limit,
		Ephemeral: body.ephemeral, Revision: o.revision,
	}
	for h := m.links.byObject.first(o.links); h != 0; h = m.links.byObject.next(h) {
		l := m.links.at(h)
		out.Links = append(out.Links, LinkState{
			Session: m.sessions.at(l.session).id, Order: l.order, Count: l.count, Data: l.data,
			Timeout: l.timeout, Number: l.number, Owner: l.owner, Since: l.since,
		})
	}
	s.Semaphores = append(s.Semaphores, out)
}
