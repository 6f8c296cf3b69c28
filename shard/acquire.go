package shard

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
)

func acquireForm(c *Command) bool {
	return c.Count > 0 &&
		(c.Timeout == Forever || c.Timeout <= uint64(MaxAcquireTimeout/time.Millisecond))
}

// acquire takes of a semaphore, waits for it, or changes what the session has or waits for there.
func (m *Machine) acquire(c *Command, t *target) {
	ephemeral := c.Flags&FlagEphemeral != 0
	if t.object == 0 {
		m.acquireNew(c, t, ephemeral)
		return
	}
	o := m.objects.at(t.object)
	if o.kind != kindSemaphore {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	s := m.semaphore(o)
	if s.ephemeral != ephemeral {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	h := m.links.find(o, t.object, t.session)
	switch {
	case c.Count > s.limit && (h == 0 || !m.links.at(h).owner):
		m.answer(protocol.StatusBadRequest)
	case h == 0:
		m.acquireJoin(c, t, o, s)
	case c.Count > m.links.at(h).count:
		m.answer(protocol.StatusBadRequest)
	case m.links.at(h).owner:
		m.acquireAsOwner(c, t, s, h)
	default:
		m.acquireAsWaiter(c, t, o, s, h)
	}
}

// acquireNew is the first acquire of a name: only ephemeral semaphores come into being so.
func (m *Machine) acquireNew(c *Command, t *target, ephemeral bool) {
	if !ephemeral {
		m.answer(protocol.StatusNotFound)
		return
	}
	if m.isFullBeforeQuotas(t) || !m.mayAddLink(t.session) {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	if !m.mayGrow(t.node, 1, ObjectBytes+len(c.Name)+LinkBytes+len(c.Data)) {
		return
	}
	t.object = m.addSemaphore(t, c, Forever, nil, true)
	o := m.objects.at(t.object)
	m.grantNew(c, t, m.semaphore(o))
	m.changed(t.object, FlagCreated|FlagOwners)
}

// acquireJoin is for a session that neither owns nor waits.
func (m *Machine) acquireJoin(c *Command, t *target, o *object, s *semaphore) {
	isGranted := o.firstWaiter == 0 && s.fits(c.Count)
	switch {
	case !m.mayAddLink(t.session):
		m.answer(protocol.StatusPreconditionFailed)
	case !isGranted && c.Timeout == 0:
		m.answer(protocol.StatusSuccess).Limit = s.reportedLimit()
	case !m.mayGrow(o.node, 0, LinkBytes+len(c.Data)):
	case isGranted:
		m.grantNew(c, t, s)
		m.changed(t.object, FlagOwners)
	default:
		h := m.addLink(t.session, t.object, c, false)
		if o.firstWaiter == 0 {
			o.firstWaiter = h
		}
		m.answerQueued(h, s.reportedLimit())
	}
}

// mayAddLink reports whether the session may own or wait for one more.
func (m *Machine) mayAddLink(session handle) bool {
	return m.rules < linksPerSession || m.sessions.at(session).linkCount < uint32(m.bounds.SessionLinks)
}

// grantNew makes the session an owner at once.
func (m *Machine) grantNew(c *Command, t *target, s *semaphore) {
	h := m.addLink(t.session, t.object, c, true)
	s.addOwner(c.Count)
	m.recordOwnerChange(t.object, m.lastOrder)
	m.answerAcquired(h, s.reportedLimit())
}

// acquireAsOwner lowers the count or replaces the data of what the session owns.
func (m *Machine) acquireAsOwner(c *Command, t *target, s *semaphore, h handle) {
	l := m.links.at(h)
	if !m.mayGrow(t.node, 0, len(c.Data)-len(l.data)) {
		return
	}
	m.touchLink(h)
	l.number = c.Number
	lowered, replaced := c.Count < l.count, l.data != string(c.Data)
	m.setData(h, c.Data)
	m.answerAcquired(h, s.reportedLimit())
	if lowered {
		s.taken -= l.count - c.Count
		l.count = c.Count
		m.runQueue(t.object, 0)
	}
	if lowered || replaced {
		m.recordOwnerChange(t.object, l.order)
		m.changed(t.object, FlagOwners)
	}
}

// acquireAsWaiter replaces the acquire that waits by a new one in the same place.
func (m *Machine) acquireAsWaiter(c *Command, t *target, o *object, s *semaphore, h handle) {
	l := m.links.at(h)
	head := o.firstWaiter == h
	isGranted := head && s.fits(c.Count)
	if stays := isGranted || c.Timeout != 0; stays && !m.mayGrow(t.node, 0, len(c.Data)-len(l.data)) {
		return
	}
	m.abort(h, protocol.AbortReplaced)
	m.touchLink(h)
	l.count, l.timeout, l.number = c.Count, c.Timeout, c.Number
	m.setData(h, c.Data)
	switch {
	case isGranted:
		m.runQueue(t.object, h)
		m.changed(t.object, FlagOwners)
	case c.Timeout == 0:
		m.answer(protocol.StatusSuccess).Limit = s.reportedLimit()
		m.removeLink(h)
		m.afterRemoval(t.object, false, head)
	default:
		m.answerQueued(h, s.reportedLimit())
	}
}

// resumeAcquire answers an acquire that was sent again and is the latest of its session there.
func (m *Machine) resumeAcquire(c *Command, t *target) bool {
	h := m.links.find(m.objects.at(t.object), t.object, t.session)
	if h == 0 {
		return false
	}
	if m.objects.at(t.object).deleting {
		return m.resumeDeleted(c, t, h)
	}
	switch {
	case m.links.at(h).number != c.Number:
		return false
	case m.links.at(h).owner:
		m.answerAcquired(h, m.limitOf(t.object))
	default:
		m.answerQueued(h, m.limitOf(t.object))
	}
	return true
}

// resumeDeleted is resumeAcquire where the semaphore is deleted and the link still pending: the ownership that the
// acquire gave is over.
func (m *Machine) resumeDeleted(c *Command, t *target, h handle) bool {
	l := m.links.at(h)
	a := m.sessions.at(t.session).kept(c.Number)
	if l.number != c.Number && (a == nil || a.flags&FlagAcquired == 0 || a.order != l.order) {
		return false
	}
	m.answer(protocol.StatusAborted).Abort = protocol.AbortDeleted
	return true
}

// answerAcquired answers that the session owns. The limit is the one that the answer reports.
func (m *Machine) answerAcquired(h handle, limit uint64) {
	e := m.answer(protocol.StatusSuccess)
	e.Flags, e.Order, e.Limit = FlagAcquired, m.links.at(h).order, limit
}

func (m *Machine) answerQueued(h handle, limit uint64) {
	l := m.links.at(h)
	e := m.answer(protocol.StatusSuccess)
	e.Flags, e.Order, e.Limit, e.Timeout = FlagQueued, l.order, limit, l.timeout
}
