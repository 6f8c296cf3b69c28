package shard

// Sessions die at their home shard. A shard with guests keeps asking the session directory (the home shard's state,
// on any host) about them: about a guest on first sight and on every report of a death, and about all guests after
// the election of a new leader. A command then forgets the dead guests. A missed report only delays the command;
// nothing is lost.

// Liveness is the knowledge of a session directory about a session.
type Liveness uint8

const (
	// Unknown: the replica is too far behind to know. Ask again later, or elsewhere.
	Unknown Liveness = 0
	// Alive: the session was alive at the present moment of the replica.
	Alive Liveness = 1
	// Dead: the session is over, for good.
	Dead Liveness = 2
)

// Directory answers whether sessions live, for the sessions of many shards. The answer must come from a replica of
// the session's home shard.
type Directory interface {
	Liveness(id SessionID) Liveness
}

// Liveness answers for sessions with their home in this shard. A missing session is dead only if the replica has seen
// the creation of the session or of a later session: ids only grow. During the wait after a renewal of the shard,
// all sessions of before are unknown.
func (m *Machine) Liveness(id SessionID) Liveness {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case !m.slots.Has(id.Slot()):
		return Unknown
	case m.sessions.alive(id) != 0:
		return Alive
	case id.Counter() > m.lastSession || id.Counter() <= m.group.Before && m.group.Waits(m.clock.Now):
		return Unknown
	}
	return Dead
}

// Loss is how many semaphores were deleted under a guest that owned them.
type Loss struct {
	Session SessionID `json:"id"`
	Count   uint64    `json:"count"`
}

// Losses appends the guests of a list that have lost a semaphore here.
func (m *Machine) Losses(ids []SessionID, dst []Loss) []Loss {
	m.mu.RLock()
	defer m.mu.RUnlock()
	for _, id := range ids {
		if h := m.sessions.alive(id); h != 0 && m.sessions.At(h).losses > 0 {
			dst = append(dst, Loss{id, m.sessions.At(h).losses})
		}
	}
	return dst
}

// DeadGuests looks at the next guests of the walk and appends those that the directory calls dead: the list for a
// CmdSessionsForget. The directory is asked while no lock is held.
func (m *Machine) DeadGuests(at Cursor, d Directory, dst []SessionID) (_ []SessionID, next Cursor, over bool) {
	from := len(dst)
	next, over = m.WalkSessions(at, func(v SessionView) {
		if !v.Home {
			dst = append(dst, v.ID)
		}
	})
	dead := dst[:from]
	for _, id := range dst[from:] {
		if d.Liveness(id) == Dead {
			dead = append(dead, id)
		}
	}
	return dead, next, over
}
