package machine

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// State writes out the whole state of the machine under the read lock, however long the state is: State is meant for
// tests and tools, not for a machine at work.
func (m *Machine) State() shard.State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := shard.State{
		LastOrder: m.lastOrder, LastRevision: m.lastRevision,
		LastSession: m.lastSession, Term: m.clock.Term, Now: m.clock.Now, TimeBase: m.clock.Base, Level: m.level,
		Pending:     m.pendingState(),
		ObjectLimit: m.quota.set.Objects, ByteLimit: m.quota.set.Bytes,
		Group: m.group,
	}
	for _, n := range m.nodes {
		s.Nodes = append(s.Nodes, shard.NodeState{
			ID: n.id, Dropping: n.dropping, ObjectLimit: n.quota.set.Objects, ByteLimit: n.quota.set.Bytes,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b shard.NodeState) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range s.Nodes {
		for h := m.sessions.byID.First(m.nodes[n.ID].ids); h != 0; h = m.sessions.byID.Next(h) {
			s.Sessions = append(s.Sessions, m.sessionState(m.sessions.At(h)))
		}
		for h := m.objects.byName.First(m.nodes[n.ID].names); h != 0; h = m.objects.byName.Next(h) {
			m.kinds[m.objects.At(h).kind].state(m, h, &s)
		}
	}
	slices.SortFunc(s.Sessions, func(a, b shard.SessionState) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// objectState writes out the common part of all kinds. The kind gives the body of the object and of its links.
func (m *Machine) objectState(object arena.Handle, body string, ofLink func(l *link) string) shard.ObjectState {
	o := m.objects.At(object)
	out := shard.ObjectState{
		Node: m.objects.node(o).id, Name: m.objects.name(o), Kind: o.kind, Revision: o.revision, Body: body,
	}
	for h := m.links.byObject.First(o.links); h != 0; h = m.links.byObject.Next(h) {
		l := m.links.At(h)
		state := m.linkState(l)
		state.Body = ofLink(l)
		out.Links = append(out.Links, state)
	}
	return out
}

func (m *Machine) linkState(l *link) shard.LinkState {
	return shard.LinkState{
		Session: m.sessions.At(l.session).id, Order: l.order, Count: l.count, Data: m.links.texts.String(l.data),
		Timeout: l.timeout.millis(), Number: l.number, Owner: l.owner, Since: l.since,
	}
}

func (m *Machine) sessionState(s *session) shard.SessionState {
	client := m.sessions.clientOf(s)
	out := shard.SessionState{
		ID: s.id, Node: m.nodeOf(s).id, Home: s.home, Timeout: uint64(s.timeout),
		Description: m.sessions.texts.String(s.description), Key: string(s.key[:s.keyLen]),
		Applied: s.applied, Acked: s.acked, NumberSpace: s.numberSpace, Losses: s.losses,
		Created: s.created, Client: client.State(),
	}
	for _, a := range m.sessions.answersOf(s) {
		out.Answers = append(out.Answers, shard.AnswerState{
			Number: a.number, Status: a.status, Flags: a.flags, Abort: a.abort,
			Order: a.order, Revision: a.revision, Quota: a.quota,
			Body: m.keptBody(s, a.number), Asked: a.asked, Slot: uint16(a.slot),
		})
	}
	return out
}
