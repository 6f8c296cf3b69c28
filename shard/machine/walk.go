package machine

import (
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// WalkSessions calls fn for the shard's sessions, remote sessions too. A call covers MaxPage handles, and returns the
// cursor for the next call and whether the walk is over. The views have no description and no client. Sessions that
// begin during the walk may be missed: a leader learns about new sessions from its own commands. fn must not call the
// machine.
func (m *Machine) WalkSessions(at shard.Cursor, fn func(shard.SessionView)) (next shard.Cursor, over bool) {
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := max(arena.Handle(at), 1)
	for end := min(h+shard.MaxPage, m.core.Sessions.End()); h < end; h++ {
		if s := m.core.Sessions.At(h); s.id != 0 && !s.ending {
			fn(m.core.Sessions.view(s))
		}
	}
	return shard.Cursor(h), h >= m.core.Sessions.End()
}

// Nodes returns the ids of all nodes known here, unsorted, for the leader to check with the meta shard.
func (m *Machine) Nodes() []shard.NodeID {
	m.mu.RLock()
	defer m.mu.RUnlock()
	ids := make([]shard.NodeID, 0, len(m.core.Nodes.byID))
	for _, n := range m.core.Nodes.listed {
		ids = append(ids, n.ID)
	}
	return ids
}

// Sessions returns how many sessions have their home here. The call is cheap.
func (m *Machine) Sessions() int {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.Sessions.Size() - m.core.Sessions.remote
}

// Count returns how much the machine holds.
func (m *Machine) Count() shard.Counts {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return shard.Counts{
		Nodes: len(m.core.Nodes.byID), Sessions: m.core.Sessions.Size() - m.core.Sessions.remote,
		RemoteSessions: m.core.Sessions.remote,
		Objects:        m.core.Objects.Size(), Links: m.core.Holdings.Size(), Waiters: m.core.Holdings.waiters,
		OfKind: m.core.Objects.ofKind,
		Counters: shard.Counters{LastOrder: m.core.lastOrder, LastRevision: m.core.lastRevision,
			LastSession: m.core.Sessions.last},
		Term: m.core.Clock.Term,
	}
}

// Term returns the highest term from any applied CmdLead.
func (m *Machine) Term() uint64 {
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.core.Clock.Term
}
