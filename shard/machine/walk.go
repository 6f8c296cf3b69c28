package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// WalkSessions calls fn for sessions of the shard, guests too, MaxPage places at a time, and returns the place of the
// next call and whether the walk is over. The views have no description and no client. Sessions that begin during the
// walk may be missed: a leader learns of new sessions from its own commands. fn must not call the machine.
func (m *Machine) WalkSessions(at shard.Cursor, fn func(shard.SessionView)) (next shard.Cursor, over bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, m.sessions.End()); h < end; h++ {
		if s := m.sessions.At(h); s.id != 0 && !s.ending {
			fn(m.viewSession(s))
		}
	}
	return shard.Cursor(h), h >= m.sessions.End()
}

// Nodes returns the ids of the nodes that something is here of, unsorted, for the leader to ask the
// meta shard about.
func (m *Machine) Nodes() []shard.NodeID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ids := make([]shard.NodeID, 0, len(m.nodes))
	for _, n := range m.listed {
		ids = append(ids, n.id)
	}
	return ids
}

// Sessions returns how many sessions have their home here. The call is cheap.
func (m *Machine) Sessions() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.sessions.Size() - m.guests
}

// Count returns how much the machine holds.
func (m *Machine) Count() shard.Counts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return shard.Counts{
		Nodes: len(m.nodes), Sessions: m.sessions.Size() - m.guests, Guests: m.guests,
		Objects: m.objects.Size(), Links: m.links.Size(), Waiters: m.waiters,
		OfKind:   m.ofKind,
		Counters: shard.Counters{LastOrder: m.lastOrder, LastRevision: m.lastRevision, LastSession: m.lastSession},
		Term:     m.clock.Term,
	}
}

// Term returns the highest term of any applied CmdLead.
func (m *Machine) Term() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.clock.Term
}
