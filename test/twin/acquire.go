package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

func (m *mutation) acquire() {
	t := m.twin
	ephemeral := m.Flags&shard.FlagEphemeral != 0
	if m.sem == nil && !ephemeral {
		m.refuse(protocol.StatusNotFound)
		return
	}
	if m.sem != nil && m.sem.ephemeral != ephemeral {
		m.refuse(protocol.StatusPreconditionFailed)
		return
	}
	if m.sem == nil {
		if m.isLinkedTooOften() {
			m.refuse(protocol.StatusPreconditionFailed)
			return
		}
		if m.lacksRoom(1, 192+len(m.Name)+144+len(m.Data)) {
			return
		}
		m.sem = &semaphore{place: place{m.Node, string(m.Name)}, limit: shard.Forever, ephemeral: true}
		t.semaphores[m.sem.place] = m.sem
		m.acquired(m.join(true))
		t.changed(m.sem, shard.FlagCreated|shard.FlagOwners)
		return
	}
	l := m.sem.linkOf(m.Session)
	switch {
	case m.Count > m.sem.limit && (l == nil || !l.owner || m.Count > l.count):
		m.refuse(protocol.StatusBadRequest)
	case l == nil:
		m.acquireAnew()
	case l.owner:
		m.acquireAsOwner(l)
	default:
		m.acquireAsWaiter(l)
	}
}

// acquired answers that the session owns.
func (m *mutation) acquired(l *link) {
	m.answer(shard.Effect{Flags: shard.FlagAcquired, Order: l.order, Limit: m.sem.answeredLimit()})
}

// queued answers that the session waits.
func (m *mutation) queued(l *link) {
	m.answer(shard.Effect{Flags: shard.FlagQueued, Order: l.order, Limit: m.sem.answeredLimit()})
}

// join adds a link with the next order id at the tail.
func (m *mutation) join(owner bool) *link {
	m.twin.lastOrder++
	for m.twin.hasClasses() && uint64(m.twin.lastOrder)%1024 != m.twin.shard {
		m.twin.lastOrder++
	}
	l := &link{
		session: m.Session,
		order:   m.twin.lastOrder,
		count:   m.Count,
		data:    string(m.Data),
		timeout: m.Timeout,
		number:  m.Number,
		owner:   owner,
		since:   m.Time,
	}
	if !owner {
		l.deadline = m.deadline()
	}
	m.sem.links = append(m.sem.links, l)
	return l
}

// deadline is the shard time at which a wait starting now ends, or 0.
func (m *mutation) deadline() uint64 {
	switch {
	case m.Timeout == shard.Forever:
		return 0
	case m.twin.mistake == TimesOutEarly:
		return m.twin.now + m.Timeout
	}
	return m.twin.now + m.Timeout + 1
}

// hasClasses reports whether the lower bits of order ids are the shard id.
func (t *Twin) hasClasses() bool {
	return t.mistake != NoClass
}

// isLinkedTooOften reports whether the session has reached the maximum number of links.
func (m *mutation) isLinkedTooOften() bool {
	return m.twin.linksOf(m.Session) >= m.twin.bounds.SessionLinks
}

func (m *mutation) acquireAnew() {
	owns := m.sem.head() == nil && m.Count <= m.sem.free()
	switch {
	case m.isLinkedTooOften():
		m.refuse(protocol.StatusPreconditionFailed)
	case (owns || m.Timeout > 0) && m.lacksRoom(0, 144+len(m.Data)):
	case owns:
		m.acquired(m.join(true))
		m.twin.changedOwners(m.sem)
	case m.Timeout == 0:
		m.answer(shard.Effect{Limit: m.sem.answeredLimit()})
	default:
		m.queued(m.join(false))
	}
}

func (m *mutation) acquireAsOwner(l *link) {
	if m.Count > l.count {
		m.refuse(protocol.StatusBadRequest)
		return
	}
	if m.lacksRoom(0, len(m.Data)-len(l.data)) {
		return
	}
	sameCount, sameData := m.Count == l.count, string(m.Data) == l.data
	l.number, l.count, l.data = m.Number, m.Count, string(m.Data)
	m.acquired(l)
	if sameCount && sameData {
		return
	}
	if !sameCount {
		m.twin.runQueue(m.sem)
	}
	m.twin.changedOwners(m.sem)
}

func (m *mutation) acquireAsWaiter(l *link) {
	if m.Count > l.count {
		m.refuse(protocol.StatusBadRequest)
		return
	}
	leaves := m.Timeout == 0 && (m.sem.head() != l || m.Count > m.sem.free())
	if !leaves && m.lacksRoom(0, len(m.Data)-len(l.data)) {
		return
	}
	m.twin.abort(m.sem, l, protocol.AbortReplaced)
	l.count, l.data, l.timeout, l.number = m.Count, string(m.Data), m.Timeout, m.Number
	l.deadline = m.deadline()
	isHead := m.sem.head() == l
	switch {
	case isHead && l.count <= m.sem.free():
		m.twin.become(l, m.Time)
		m.twin.left--
		m.acquired(l)
		m.twin.runQueue(m.sem)
		m.twin.changedOwners(m.sem)
	case m.Timeout == 0:
		m.twin.unlink(m.sem, l)
		m.answer(shard.Effect{Limit: m.sem.answeredLimit()})
		m.twin.afterRemoval(m.sem, false, isHead)
	default:
		m.queued(l)
	}
}

func (m *mutation) release() {
	var l *link
	if m.sem != nil {
		l = m.sem.linkOf(m.Session)
	}
	if l == nil && m.Order == 0 {
		m.answer(shard.Effect{})
		return
	}
	if l == nil || m.Order != 0 && m.Order != l.order {
		m.refuse(protocol.StatusFenced)
		return
	}
	if used := m.twin.NodeUsage(m.Node); m.twin.mistake == RefusesReleases && used.Bytes > used.ByteLimit {
		m.refuse(protocol.StatusQuotaExceeded)
		return
	}
	wasHead := m.sem.head() == l
	if !l.owner {
		m.twin.abort(m.sem, l, protocol.AbortReleased)
	} else {
		m.twin.abortKeptAnswers(l, protocol.AbortReleased)
	}
	m.twin.unlink(m.sem, l)
	m.answer(shard.Effect{Flags: shard.FlagReleased})
	m.twin.afterRemoval(m.sem, l.owner, wasHead)
}
