package machine

import (
	"cmp"
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// State returns the machine's whole state in plain form, under the read lock for the whole time. State is meant for
// tests and tools, not for a machine in production.
func (m *Machine) State() shard.State {
	m.mu.RLock()
	defer m.mu.RUnlock()
	s := shard.State{
		LastOrder: m.core.lastOrder, LastRevision: m.core.lastRevision,
		LastSession: m.core.Sessions.last, Term: m.core.Clock.Term, Now: m.core.Clock.Now, TimeBase: m.core.Clock.Base,
		Level:       m.core.level,
		Pending:     m.core.Pending.state(),
		ObjectLimit: m.core.Nodes.quota.set.Objects, ByteLimit: m.core.Nodes.quota.set.Bytes,
		Group: m.core.group, SlotChanges: m.core.slots.Changes(),
	}
	for _, x := range m.core.slots.Changed() {
		is := shard.SlotState{Slot: x.Number, State: x.State.String(), Generation: x.Generation, To: x.To, Seen: x.Seen,
			Why: x.Why}
		if x.Content != nil {
			is.Digest = x.Content.Digest
		}
		s.Slots = append(s.Slots, is)
	}
	for _, n := range m.core.Nodes.byID {
		s.Nodes = append(s.Nodes, shard.NodeState{
			ID: n.ID, Dropping: n.Dropping, ObjectLimit: n.quota.set.Objects, ByteLimit: n.quota.set.Bytes,
		})
	}
	slices.SortFunc(s.Nodes, func(a, b shard.NodeState) int { return cmp.Compare(a.ID, b.ID) })
	for _, n := range s.Nodes {
		for h := m.core.Sessions.byID.First(m.core.Nodes.byID[n.ID].ids); h != 0; h = m.core.Sessions.byID.Next(h) {
			s.Sessions = append(s.Sessions, m.core.Sessions.state(h))
		}
		for h := m.core.Objects.byName.First(m.core.Nodes.byID[n.ID].names); h != 0; h = m.core.Objects.byName.Next(h) {
			m.core.kinds[m.core.Objects.At(h).Kind].AppendState(m.core, h, &s)
		}
	}
	slices.SortFunc(s.Sessions, func(a, b shard.SessionState) int { return cmp.Compare(a.ID, b.ID) })
	return s
}

// State returns the part common to all kinds. The kind supplies the bodies for the object and the holdings.
func (ob *Objects) State(object arena.Handle, body string, ofLink func(l *Holding) string) shard.ObjectState {
	o := ob.At(object)
	out := shard.ObjectState{
		Node: ob.Node(o).ID, Name: ob.Name(o), Kind: o.Kind, Revision: o.Revision, Body: body,
	}
	for h := ob.core.Holdings.byObject.First(o.holdings); h != 0; h = ob.core.Holdings.byObject.Next(h) {
		l := ob.core.Holdings.At(h)
		state := ob.core.Holdings.State(l)
		state.Body = ofLink(l)
		out.Links = append(out.Links, state)
	}
	return out
}

// State returns a holding in plain form.
func (ho *Holdings) State(l *Holding) shard.LinkState {
	return shard.LinkState{
		Session: ho.core.Sessions.At(l.Session).id, Order: l.Order, Count: l.Count, Data: ho.texts.String(l.data),
		Timeout: l.timeout.millis(), Number: l.Number, Owner: l.Owner, Since: l.Since, Deadline: ho.deadline(l),
	}
}

func (se *Sessions) state(h arena.Handle) shard.SessionState {
	s := se.At(h)
	client := se.clientOf(s)
	out := shard.SessionState{
		ID: s.id, Node: se.Node(s).ID, Home: s.home, Timeout: uint64(s.timeout),
		Details: se.texts.String(s.details), Key: string(s.key[:s.keyLen]),
		Applied: s.applied, Acked: s.acked, SequenceSpace: s.numberSpace, Losses: s.losses,
		Created: s.created, Client: client.State(), Slots: se.sets.appendTo(nil, h),
	}
	for _, a := range se.answersOf(s) {
		out.Answers = append(out.Answers, shard.AnswerState{
			Number: a.number, Status: a.status, Flags: a.flags, Abort: a.abort,
			Order: a.order, Revision: a.revision, Quota: a.quota,
			Body: se.core.Answers.body(s, a.number), Asked: a.asked, Slot: uint16(a.slot),
		})
	}
	return out
}
