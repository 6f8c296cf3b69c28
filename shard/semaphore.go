package shard

import "github.com/signalbox/signalbox/protocol"

// semaphore is what a semaphore has beside what every object has.
type semaphore struct {
	limit     uint64
	taken     uint64 // the sum of the owners' counts
	data      string
	owners    uint32
	ephemeral bool

	// Of the last change of each that this replica saw.
	dataRevision, limitRevision Revision
}

// semaphores is the store and the rules of the kind.
type semaphores struct {
	slab[semaphore]
}

func newSemaphores() kind { return &semaphores{} }

func (m *Machine) semaphore(o *object) *semaphore {
	return m.kinds[kindSemaphore].(*semaphores).at(o.body)
}

// fits reports whether the count is free. The owners have more than the limit where it was lowered.
func (s *semaphore) fits(count uint64) bool { return s.taken <= s.limit && count <= s.limit-s.taken }

// reportedLimit is the limit as acquires are answered with it: 0 for an ephemeral semaphore, which has none.
func (s *semaphore) reportedLimit() uint64 {
	if s.ephemeral {
		return 0
	}
	return s.limit
}

// limitOf is what an acquire of the object is answered with.
func (m *Machine) limitOf(object handle) uint64 {
	if !m.isSemaphore(object) {
		return 0
	}
	return m.semaphore(m.objects.at(object)).reportedLimit()
}

// addOwner counts an owner in.
func (s *semaphore) addOwner(count uint64) {
	assert(s.fits(count), "a semaphore gives out no more than its limit")
	s.taken += count
	s.owners++
}

// removeOwner counts an owner out.
func (s *semaphore) removeOwner(count uint64) {
	assert(s.owners > 0 && s.taken >= count, "a semaphore gets back what it gave out")
	s.taken -= count
	s.owners--
}

// limitForm is for the commands that say a limit.
func limitForm(c *Command) bool { return c.Count > 0 }

func (m *Machine) addSemaphore(t *target, c *Command, limit uint64, data []byte, ephemeral bool) handle {
	st := m.kinds[kindSemaphore].(*semaphores)
	body := st.alloc()
	s := st.at(body)
	s.limit, s.ephemeral = limit, ephemeral
	if len(data) > 0 {
		s.data = string(data)
	}
	return m.addObject(kindSemaphore, t, c.Node, string(c.Name), body)
}

// isSemaphore reports whether the object is one: names are shared by all kinds.
func (m *Machine) isSemaphore(object handle) bool {
	return m.objects.at(object).kind == kindSemaphore
}

func (m *Machine) semaphoreCreate(c *Command, t *target) {
	if t.object != 0 {
		status := protocol.StatusAlreadyExists
		if o := m.objects.at(t.object); o.kind != kindSemaphore || m.semaphore(o).ephemeral {
			status = protocol.StatusPreconditionFailed
		}
		m.answer(status)
		return
	}
	if m.isFullBeforeQuotas(t) {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	if !m.mayGrow(t.node, 1, ObjectBytes+len(c.Name)+len(c.Data)) {
		return
	}
	h := m.addSemaphore(t, c, c.Count, c.Data, false)
	m.answer(protocol.StatusSuccess).Revision = m.lastRevision + 1
	m.changed(h, FlagCreated)
}

// isFullBeforeQuotas reports whether the node has as many semaphores as it may have where quotas do not hold yet.
func (m *Machine) isFullBeforeQuotas(t *target) bool {
	return m.rules < quotas && t.node != nil && t.node.objects >= MaxSemaphoresPerNode
}

func (m *Machine) semaphoreUpdate(c *Command, t *target) {
	if t.object == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	if !m.isSemaphore(t.object) {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	o := m.objects.at(t.object)
	if c.Order != 0 {
		h := handle(0)
		if t.session != 0 {
			h = m.links.find(o, t.object, t.session)
		}
		if h == 0 || !m.links.at(h).owner || m.links.at(h).order != c.Order {
			m.answer(protocol.StatusFenced)
			return
		}
	}
	if c.Revision != 0 && c.Revision != o.revision {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	s := m.semaphore(o)
	if s.data == string(c.Data) {
		m.answer(protocol.StatusSuccess).Revision = o.revision
		return
	}
	if !m.mayGrow(o.node, 0, len(c.Data)-len(s.data)) {
		return
	}
	m.touchObject(t.object)
	m.charge(o.node, len(c.Data)-len(s.data))
	s.data, s.dataRevision = string(c.Data), m.lastRevision+1
	m.answer(protocol.StatusSuccess).Revision = s.dataRevision
	m.changed(t.object, FlagData)
}

// semaphoreResize changes the limit. What is owned stays owned: after a lower limit nothing is granted until enough was
// given back.
func (m *Machine) semaphoreResize(c *Command, t *target) {
	if t.object == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	o := m.objects.at(t.object)
	if o.kind != kindSemaphore || m.semaphore(o).ephemeral || c.Revision != 0 && c.Revision != o.revision {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	s := m.semaphore(o)
	if s.limit == c.Count {
		m.answer(protocol.StatusSuccess).Revision = o.revision
		return
	}
	m.touchObject(t.object)
	s.limit, s.limitRevision = c.Count, m.lastRevision+1
	m.answer(protocol.StatusSuccess).Revision = s.limitRevision
	flags := FlagData | FlagLimit
	if m.runQueue(t.object, 0) {
		flags |= FlagOwners
	}
	m.changed(t.object, flags)
}

func (m *Machine) semaphoreDelete(c *Command, t *target) {
	if t.object == 0 {
		m.answer(protocol.StatusNotFound)
		return
	}
	o := m.objects.at(t.object)
	if o.kind != kindSemaphore || m.semaphore(o).ephemeral ||
		o.linkCount > 0 && c.Flags&FlagForce == 0 {
		m.answer(protocol.StatusPreconditionFailed)
		return
	}
	m.kinds[kindSemaphore].remove(m, t.object)
	m.answer(protocol.StatusSuccess)
}

// remove deletes a semaphore with its links: waiters get Aborted, then owners get Lost. Where there are too many of
// them for the command it is deleted all the same, and the others are pending.
func (sem *semaphores) remove(m *Machine, object handle) {
	o := m.objects.at(object)
	for o.linkCount > 0 && m.left > 0 {
		h := o.firstWaiter
		if h != 0 {
			m.abort(h, protocol.AbortDeleted)
		} else {
			h = m.links.byObject.first(o.links)
			m.reportLost(h)
			sem.at(o.body).removeOwner(m.links.at(h).count)
		}
		m.removeLink(h)
	}
	if !o.deleting {
		m.changed(object, FlagData|FlagOwners|FlagDeleted)
	}
	if o.linkCount == 0 {
		m.removeObject(object)
		return
	}
	o.deleting = true
	m.deferObject(object)
}

// reportLost gives an owner Lost: its semaphore is deleted. Its acquire may not have been answered yet: sent again, it
// must not say that it owns.
func (m *Machine) reportLost(h handle) {
	m.emitFor(EffectLost, h)
	if m.rules >= answersEndWithOwnership {
		m.endAnswers(h, protocol.AbortDeleted)
		return
	}
	l := m.links.at(h)
	m.recordOutcome(l.session, l.number, answer{status: protocol.StatusAborted, abort: protocol.AbortDeleted})
}

// abort gives the session that waits Aborted: its acquire is over.
func (m *Machine) abort(h handle, reason protocol.AbortReason) {
	m.emitFor(EffectAborted, h).Abort = reason
	l := m.links.at(h)
	m.recordOutcome(l.session, l.number, answer{status: protocol.StatusAborted, abort: reason})
}

// bodySize is the length of the semaphore's data.
func (sem *semaphores) bodySize(body handle) int { return len(sem.at(body).data) }

// free gives the store's place back.
func (sem *semaphores) free(body handle) { sem.release(body) }
