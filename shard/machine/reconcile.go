package machine

import "github.com/signalbox/signalbox/shard"

// Sessions end at their home shard. A shard with remote sessions keeps asking the session directory (the home shard's
// state, on any host) about them: about one session on first sight and whenever its end is reported, and about all
// remote sessions after a new leader is elected. A command then removes the ended sessions. A missed report only delays
// the command; nothing is lost.

// Liveness answers for sessions with their home in this shard. A missing session is dead only if the replica has seen
// the creation of that session or of a later session: ids only grow. While a rebuilt shard waits, all sessions from
// before the rebuild are unknown.
func (m *Machine) Liveness(id shard.SessionID) shard.Liveness {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case !m.core.slots.Has(id.Slot()):
		return shard.Unknown
	case m.core.Sessions.Alive(id) != 0:
		return shard.Alive
	case id.Counter() > m.core.Sessions.last || id.Counter() <= m.core.group.Before &&
		m.core.group.Waits(m.core.Clock.Now):
		return shard.Unknown
	}
	return shard.Dead
}

// Losses appends the listed remote sessions that have lost a semaphore here.
func (m *Machine) Losses(ids []shard.SessionID, dst []shard.Loss) []shard.Loss {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, id := range ids {
		if h := m.core.Sessions.Alive(id); h != 0 && m.core.Sessions.At(h).losses > 0 {
			dst = append(dst, shard.Loss{Session: id, Count: m.core.Sessions.At(h).losses})
		}
	}
	return dst
}

// DeadRemoteSessions looks at the next remote sessions in the scan and appends the sessions the directory reports
// dead: the list for a CmdSessionsForget. It holds no lock while it asks the directory.
func (m *Machine) DeadRemoteSessions(at shard.Cursor, d shard.Directory, dst []shard.SessionID) (_ []shard.SessionID,
	next shard.Cursor, over bool) {
	from := len(dst)
	next, over = m.WalkSessions(at, func(v shard.SessionView) {
		if !v.Home {
			dst = append(dst, v.ID)
		}
	})
	dead := dst[:from]
	for _, id := range dst[from:] {
		if d.Liveness(id) == shard.Dead {
			dead = append(dead, id)
		}
	}
	return dead, next, over
}
