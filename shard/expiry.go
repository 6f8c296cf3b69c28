package shard

import "github.com/signalbox/signalbox/protocol"

// The commands that time is behind. A leader's clock decides when to propose them; the term in them
// makes sure that only the newest leader's clock counts, however late an older one's are applied.

func (m *Machine) lead(c *Command) {
	if c.Term < m.term {
		m.answer(protocol.StatusStale)
		return
	}
	m.term = c.Term
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) sessionsExpire(c *Command) {
	switch {
	case len(c.Sessions) > MaxList:
		m.answer(protocol.StatusBadRequest)
		return
	case c.Term != m.term:
		m.answer(protocol.StatusStale)
		return
	}
	m.answerMore(!m.endAll(c.Sessions, true, protocol.EndExpired))
}

func (m *Machine) sessionsForget(c *Command) {
	if len(c.Sessions) > MaxList {
		m.answer(protocol.StatusBadRequest)
		return
	}
	m.answerMore(!m.endAll(c.Sessions, false, protocol.EndUnknown))
}

// endAll ends those of the sessions that are known here and at home, or guests, as asked. It returns false where the
// rest of the list is more work than the command may do.
func (m *Machine) endAll(ids []SessionID, home bool, reason protocol.EndReason) bool {
	for _, id := range ids {
		if m.left <= 0 {
			return false
		}
		if h := m.sessions.alive(id); h != 0 && m.sessions.at(h).home == home {
			m.endSession(h, reason)
		}
	}
	return true
}

func (m *Machine) waitersTimeOut(c *Command) {
	switch {
	case len(c.Waiters) > MaxList:
		m.answer(protocol.StatusBadRequest)
		return
	case c.Term != m.term:
		m.answer(protocol.StatusStale)
		return
	}
	for i := range c.Waiters {
		if m.left <= 0 {
			m.answerMore(true)
			return
		}
		m.waiterTimeOut(&c.Waiters[i])
	}
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) waiterTimeOut(w *WaiterRef) {
	object := m.objects.find(ObjectHash(w.Node, w.Name), w.Node, w.Name)
	session := m.sessions.alive(w.Session)
	if object == 0 || session == 0 || m.objects.at(object).deleting {
		return
	}
	h := m.links.find(m.objects.at(object), object, session)
	if h == 0 {
		return
	}
	l := m.links.at(h)
	if l.owner || l.order != w.Order || l.number != w.Number {
		return
	}
	m.emitFor(EffectTimedOut, h)
	m.recordOutcome(session, l.number, answer{})
	wasHead := m.objects.at(object).firstWaiter == h
	m.removeLink(h)
	m.afterRemoval(object, false, wasHead)
}
