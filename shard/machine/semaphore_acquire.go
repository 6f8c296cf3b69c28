package machine

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
)

func acquireForm(c *shard.Command) bool {
	return c.Count > 0 &&
		(c.Timeout == shard.Forever || c.Timeout <= uint64(shard.MaxAcquireTimeout/time.Millisecond))
}

// runAcquire makes the session an owner or a waiter of a semaphore, or changes the count and the data of its link.
func runAcquire(m *Core, c *shard.Command, t *target) {
	sem := m.semaphores()
	ephemeral := c.Flags&shard.FlagEphemeral != 0
	if t.object == 0 {
		sem.acquireNew(m, c, t, ephemeral)
		return
	}
	o := m.Objects.At(t.object)
	s := sem.At(o.body)
	if s.ephemeral != ephemeral {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	h := m.Holdings.find(o, t.object, t.session)
	switch {
	case c.Count > s.limit && (h == 0 || !m.Holdings.At(h).owner):
		m.Run.Answer(protocol.StatusBadRequest)
	case h == 0:
		sem.acquireJoin(m, c, t, o, s)
	case c.Count > m.Holdings.At(h).count:
		m.Run.Answer(protocol.StatusBadRequest)
	case m.Holdings.At(h).owner:
		sem.acquireAsOwner(m, c, t, s, h)
	default:
		sem.acquireAsWaiter(m, c, t, o, s, h)
	}
}

// acquireNew is the first acquire of a name: only ephemeral semaphores come into being so.
func (sem *semaphores) acquireNew(m *Core, c *shard.Command, t *target, ephemeral bool) {
	if !ephemeral {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	if refusal, _ := m.Holdings.Admits(t.session); refusal != protocol.StatusSuccess {
		m.Run.Answer(refusal)
		return
	}
	if !m.Nodes.MayGrow(t.node, 1, shard.ObjectBytes+len(c.Name)+shard.LinkBytes+len(c.Data)) {
		return
	}
	body := sem.Alloc()
	s := sem.At(body)
	*s = semaphore{limit: shard.Forever, ephemeral: true}
	t.object = m.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	sem.grantNew(m, c, t, s)
	m.Objects.Changed(t.object, shard.FlagCreated|shard.FlagOwners)
}

// acquireJoin is for a session without a link to the semaphore.
func (sem *semaphores) acquireJoin(m *Core, c *shard.Command, t *target, o *object, s *semaphore) {
	isGranted := o.firstWaiter == 0 && s.fits(c.Count)
	switch refusal, _ := m.Holdings.Admits(t.session); {
	case refusal != protocol.StatusSuccess:
		m.Run.Answer(refusal)
	case !isGranted && c.Timeout == 0:
		m.Run.Answer(protocol.StatusSuccess).Limit = s.reportedLimit()
	case !m.Nodes.MayGrow(m.Objects.node(o), 0, shard.LinkBytes+len(c.Data)):
	case isGranted:
		sem.grantNew(m, c, t, s)
		m.Objects.Changed(t.object, shard.FlagOwners)
	default:
		h := m.Holdings.Add(t.session, t.object, c, false)
		if o.firstWaiter == 0 {
			o.firstWaiter = h
		}
		m.Holdings.AnswerQueued(h, s.reportedLimit())
	}
}

// grantNew makes the session an owner at once.
func (sem *semaphores) grantNew(m *Core, c *shard.Command, t *target, s *semaphore) {
	h := m.Holdings.Add(t.session, t.object, c, true)
	s.addOwner(c.Count)
	m.History.record(&m.Objects.At(t.object).track, m.lastOrder)
	m.Holdings.AnswerAcquired(h, s.reportedLimit())
}

// acquireAsOwner lowers the count of an owner, or replaces its data.
func (sem *semaphores) acquireAsOwner(m *Core, c *shard.Command, t *target, s *semaphore, h arena.Handle) {
	l := m.Holdings.At(h)
	if !m.Nodes.MayGrow(t.node, 0, m.Holdings.growth(l, c.Data)) {
		return
	}
	m.Snapshots.TouchHolding(h)
	l.number = c.Number
	lowered, replaced := c.Count < l.count, !m.Holdings.texts.Is(l.data, c.Data)
	m.Holdings.SetData(h, c.Data)
	m.Holdings.AnswerAcquired(h, s.reportedLimit())
	if lowered {
		s.taken -= l.count - c.Count
		l.count = c.Count
		sem.runQueue(m, t.object, 0)
	}
	if lowered || replaced {
		m.History.record(&m.Objects.At(t.object).track, l.order)
		m.Objects.Changed(t.object, shard.FlagOwners)
	}
}

// acquireAsWaiter replaces the waiting acquire by a new acquire in the same place.
func (sem *semaphores) acquireAsWaiter(m *Core, c *shard.Command, t *target, o *object, s *semaphore,
	h arena.Handle) {
	l := m.Holdings.At(h)
	head := o.firstWaiter == h
	isGranted := head && s.fits(c.Count)
	if stays := isGranted || c.Timeout != 0; stays && !m.Nodes.MayGrow(t.node, 0, m.Holdings.growth(l, c.Data)) {
		return
	}
	m.Holdings.Abort(h, protocol.AbortReplaced)
	m.Snapshots.TouchHolding(h)
	l.count, l.number = c.Count, c.Number
	l.timeout, _ = newWaitTime(c.Timeout) // acquireForm has checked the time
	m.Holdings.SetData(h, c.Data)
	switch {
	case isGranted:
		sem.runQueue(m, t.object, h)
		m.Objects.Changed(t.object, shard.FlagOwners)
	case c.Timeout == 0:
		m.Run.Answer(protocol.StatusSuccess).Limit = s.reportedLimit()
		m.Holdings.Remove(h)
		sem.afterRemoval(m, t.object, false, head)
	default:
		m.Holdings.AnswerQueued(h, s.reportedLimit())
	}
}

// resumeAcquire answers a repeated acquire that is the session's latest acquire of the semaphore.
func resumeAcquire(m *Core, c *shard.Command, t *target) bool {
	h := m.Holdings.find(m.Objects.At(t.object), t.object, t.session)
	if h == 0 {
		return false
	}
	o := m.Objects.At(t.object)
	if l := m.Holdings.At(h); l.number == c.Number && m.isAnotherAcquire(c, m.semaphores().At(o.body), l) {
		m.Run.refuseAnother()
		return true
	}
	if o.deleting {
		return resumeDeleted(m, c, t, h)
	}
	switch {
	case m.Holdings.At(h).number != c.Number:
		return false
	case m.Holdings.At(h).owner:
		m.Holdings.AnswerAcquired(h, m.semaphores().limitOf(m, t.object))
	default:
		m.Holdings.AnswerQueued(h, m.semaphores().limitOf(m, t.object))
	}
	return true
}

// isAnotherAcquire reports whether an acquire came under the number of a different acquire, as far as the link with
// the number shows.
func (co *Core) isAnotherAcquire(c *shard.Command, s *semaphore, l *link) bool {
	return l.count != c.Count || !co.Holdings.texts.Is(l.data, c.Data) ||
		s.ephemeral != (c.Flags&shard.FlagEphemeral != 0)
}

// resumeDeleted is resumeAcquire for a deleted semaphore with a pending link: the ownership of the acquire is over.
func resumeDeleted(m *Core, c *shard.Command, t *target, h arena.Handle) bool {
	l := m.Holdings.At(h)
	a := m.Sessions.answer(m.Sessions.At(t.session), c.Number)
	if l.number != c.Number && (a == nil || a.flags&shard.FlagAcquired == 0 || a.order != l.order) {
		return false
	}
	m.Run.Answer(protocol.StatusAborted).Abort = protocol.AbortDeleted
	return true
}

// WillQueue reports whether an acquire would be queued if it were applied now, and so would wait for an owner to
// release. The result is a forecast: WillQueue does not make all checks of an acquire.
func (m *Machine) WillQueue(c *shard.Command) bool {
	if c.Timeout == 0 {
		return false
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	h := m.core.Objects.alive(shard.KindSemaphore, c.Node, c.Name)
	if h == 0 {
		return false
	}
	o := m.core.Objects.At(h)
	s := m.core.semaphores().At(o.body)
	if c.Count > s.limit || o.firstWaiter == 0 && s.fits(c.Count) {
		return false
	}
	session := m.core.Sessions.find(c.Session)
	return session == 0 || m.core.Holdings.find(o, h, session) == 0
}
