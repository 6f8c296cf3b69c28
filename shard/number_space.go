package shard

import (
	"math"

	"github.com/signalbox/signalbox/protocol"
)

// A gateway keeps nothing of a session from one stream to the next, and each shard knows only the numbers of mutations
// that it has applied itself. So the session's home gives each stream a space of numbers that none had before.

// NumbersLevel is the level from which sessions draw spaces of numbers.
var NumbersLevel = commandLevels[CmdSessionNumbers]

// lastNumberSpace is the last space: all of its numbers fit into 64 bits.
const lastNumberSpace = math.MaxUint64/protocol.NumberSpace - 1

// numberSpaceOf returns the space that a number is in.
func numberSpaceOf(number uint64) uint64 { return number / protocol.NumberSpace }

// sessionNumbers draws the session's next space of numbers.
func (m *Machine) sessionNumbers(c *Command) {
	h := m.sessionAtHome(c)
	if h == 0 {
		return
	}
	s := m.sessions.at(h)
	space := max(s.numberSpace, numberSpaceOf(s.applied)) + 1
	if space = max(space, c.Count); space > lastNumberSpace {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	m.touchSession(h)
	s.numberSpace = space
	m.answer(protocol.StatusSuccess).Number = space * protocol.NumberSpace
}

// sessionAtHome finds the session of a command that only its client may give, and that has shown its key. It answers
// and returns zero where there is none.
func (m *Machine) sessionAtHome(c *Command) handle {
	if !m.slots.Has(c.Session.Slot()) {
		m.answer(protocol.StatusMoved)
		return 0
	}
	h := m.sessions.alive(c.Session)
	if h == 0 {
		m.answer(protocol.StatusSessionExpired)
		return 0
	}
	if s := m.sessions.at(h); s.keyLen > 0 && string(s.key[:s.keyLen]) != string(c.Key) {
		m.answer(protocol.StatusBadSession)
		return 0
	}
	return h
}
