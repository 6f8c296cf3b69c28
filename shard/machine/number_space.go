package machine

import (
	"math"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

// A gateway keeps nothing of a session from one stream to the next, and each shard knows only the numbers of
// mutations that the shard itself has applied. So the session's home gives each stream a new space of numbers.

// lastNumberSpace is the last space: all its numbers fit into 64 bits.
const lastNumberSpace = math.MaxUint64/protocol.NumberSpace - 1

// numberSpaceOf returns the space of a number.
func numberSpaceOf(number uint64) uint64 { return number / protocol.NumberSpace }

// sessionNumbers draws the session's next space of numbers.
func (m *Machine) sessionNumbers(c *shard.Command) {
	h := m.sessionAtHome(c)
	if h == 0 {
		return
	}
	s := m.sessions.At(h)
	space := max(s.numberSpace, numberSpaceOf(s.applied)) + 1
	if space = max(space, c.Count); space > lastNumberSpace {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	m.touchSession(h)
	s.numberSpace = space
	m.answer(protocol.StatusSuccess).Number = space * protocol.NumberSpace
}

// sessionAtHome finds the session of a command that only the session's own client may give, and checks the key. If
// the session is missing or the key is wrong, sessionAtHome answers and returns zero.
func (m *Machine) sessionAtHome(c *shard.Command) arena.Handle {
	if !m.slots.Has(c.Session.Slot()) {
		m.answer(protocol.StatusMoved)
		return 0
	}
	h := m.sessions.alive(c.Session)
	if h == 0 {
		m.answer(protocol.StatusSessionExpired)
		return 0
	}
	if s := m.sessions.At(h); s.keyLen > 0 && string(s.key[:s.keyLen]) != string(c.Key) {
		m.answer(protocol.StatusBadSession)
		return 0
	}
	return h
}
