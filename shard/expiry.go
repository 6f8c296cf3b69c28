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
	m.endAll(c.Sessions, true, protocol.EndExpired)
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) sessionsForget(c *Command) {
	if len(c.Sessions) > MaxList {
		m.answer(protocol.StatusBadRequest)
		return
	}
	m.endAll(c.Sessions, false, protocol.EndUnknown)
	m.answer(protocol.StatusSuccess)
}

// endAll ends those of the sessions that are known here and at home, or guests, as asked.
func (m *Machine) endAll(ids []SessionID, home bool, reason protocol.EndReason) {
	for _, id := range ids {
		if h := m.sessions.find(id); h != 0 && m.sessions.at(h).home == home {
			m.endSession(h, reason)
		}
	}
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
		m.waiterTimeOut(&c.Waiters[i])
	}
	m.answer(protocol.StatusSuccess)
}

func (m *Machine) waiterTimeOut(w *WaiterRef) {
	object := m.objects.find(ObjectHash(w.Node, w.Name), w.Node, w.Name)
	session := m.sessions.find(w.Session)
	if object == 0 || session == 0 {
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
	m.tell(EffectTimedOut, h)
	m.settle(session, l.number, answer{})
	wasHead := m.objects.at(object).firstWaiter == h
	m.removeLink(h)
	if wasHead && m.runQueue(object, 0) {
		m.changed(object, FlagOwners)
	}
}
