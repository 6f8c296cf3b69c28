package shard

// Sessions die at their home shard. Every other shard that they did something in keeps asking the
// session directory (the home shard's state, on any host) about its guests: on first sight, on every
// death that it hears of, and for all of them when it gets a new leader. What is dead is forgotten
// there by a command. An event that is missed only delays that; nothing is lost with it.

// Liveness is what a session directory knows of a session.
type Liveness uint8

const (
	// Unknown: this replica has not come so far that it could know. Ask again later, or elsewhere.
	Unknown Liveness = 0
	// Alive: the session was alive at the moment that the replica stands at.
	Alive Liveness = 1
	// Dead: the session is over, for good.
	Dead Liveness = 2
)

// Directory answers whether sessions live. It is asked for the sessions of many shards; it must
// answer from a replica of the session's home shard.
type Directory interface {
	Liveness(id SessionID) Liveness
}

// Liveness answers for the sessions whose home is this shard. An id that is not there is dead only
// if this replica has seen it or a later one being made: ids only grow.
func (m *Machine) Liveness(id SessionID) Liveness {
	m.mu.RLock()
	defer m.mu.RUnlock()
	switch {
	case !m.slots.Has(id.Slot()):
		return Unknown
	case m.sessions.alive(id) != 0:
		return Alive
	case id.Counter() <= m.lastSession:
		return Dead
	}
	return Unknown
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
