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
func runAcquire(m *Core, c *shard.Command, t *Target) {
	sem := m.semaphores()
	ephemeral := c.Flags&shard.FlagEphemeral != 0
	if t.Object == 0 {
		sem.acquireNew(m, c, t, ephemeral)
		return
	}
	o := m.Objects.At(t.Object)
	s := sem.At(o.State)
	if s.ephemeral != ephemeral {
		m.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	h := m.Holdings.Find(o, t.Object, t.Session)
	switch {
	case c.Count > s.limit && (h == 0 || !m.Holdings.At(h).Owner):
		m.Run.Answer(protocol.StatusBadRequest)
	case h == 0:
		sem.acquireJoin(m, c, t, o, s)
	case c.Count > m.Holdings.At(h).Count:
		m.Run.Answer(protocol.StatusBadRequest)
	case m.Holdings.At(h).Owner:
		sem.acquireAsOwner(m, c, t, s, h)
	default:
		sem.acquireAsWaiter(m, c, t, o, s, h)
	}
}

// acquireNew is the first acquire of a name: only ephemeral semaphores come into being so.
func (sem *semaphores) acquireNew(m *Core, c *shard.Command, t *Target, ephemeral bool) {
	if !ephemeral {
		m.Run.Answer(protocol.StatusNotFound)
		return
	}
	if refusal, _ := m.Holdings.Admits(t.Session); refusal != protocol.StatusSuccess {
		m.Run.Answer(refusal)
		return
	}
	if !m.Nodes.MayGrow(t.Node, 1, shard.ObjectBytes+len(c.Name)+shard.LinkBytes+len(c.Data)) {
		return
	}
	body := sem.Alloc()
	s := sem.At(body)
	*s = semaphore{limit: shard.Forever, ephemeral: true}
	t.Object = m.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	sem.grantNew(m, c, t, s)
	m.Objects.Changed(t.Object, shard.FlagCreated|shard.FlagOwners)
}

// acquireJoin is for a session without a link to the semaphore.
func (sem *semaphores) acquireJoin(m *Core, c *shard.Command, t *Target, o *Object, s *semaphore) {
	isGranted := o.FirstWaiter == 0 && s.fits(c.Count)
	switch refusal, _ := m.Holdings.Admits(t.Session); {
	case refusal != protocol.StatusSuccess:
		m.Run.Answer(refusal)
	case !isGranted && c.Timeout == 0:
		m.Run.Answer(protocol.StatusSuccess).Limit = s.reportedLimit()
	case !m.Nodes.MayGrow(m.Objects.Node(o), 0, shard.LinkBytes+len(c.Data)):
	case isGranted:
		sem.grantNew(m, c, t, s)
		m.Objects.Changed(t.Object, shard.FlagOwners)
	default:
		m.Holdings.AnswerQueued(m.Holdings.Add(t.Session, t.Object, c, false), s.reportedLimit())
	}
}

// grantNew makes the session an owner at once.
func (sem *semaphores) grantNew(m *Core, c *shard.Command, t *Target, s *semaphore) {
	h := m.Holdings.Add(t.Session, t.Object, c, true)
	s.addOwner(c.Count)
	m.History.OwnerChanged(t.Object, m.Holdings.At(h).Order)
	m.Holdings.AnswerAcquired(h, s.reportedLimit())
}

// acquireAsOwner lowers the count of an owner, or replaces its data.
func (sem *semaphores) acquireAsOwner(m *Core, c *shard.Command, t *Target, s *semaphore, h arena.Handle) {
	l := m.Holdings.At(h)
	if !m.Nodes.MayGrow(t.Node, 0, m.Holdings.Growth(l, c.Data)) {
		return
	}
	m.Snapshots.TouchHolding(h)
	l.Number = c.Number
	lowered, replaced := c.Count < l.Count, !m.Holdings.HasData(l, c.Data)
	m.Holdings.SetData(h, c.Data)
	m.Holdings.AnswerAcquired(h, s.reportedLimit())
	if lowered {
		s.taken -= l.Count - c.Count
		l.Count = c.Count
		sem.runQueue(m, t.Object, 0)
	}
	if lowered || replaced {
		m.History.OwnerChanged(t.Object, l.Order)
		m.Objects.Changed(t.Object, shard.FlagOwners)
	}
}

// acquireAsWaiter replaces the waiting acquire by a new acquire in the same place.
func (sem *semaphores) acquireAsWaiter(m *Core, c *shard.Command, t *Target, o *Object, s *semaphore,
	h arena.Handle) {
	l := m.Holdings.At(h)
	head := o.FirstWaiter == h
	isGranted := head && s.fits(c.Count)
	if stays := isGranted || c.Timeout != 0; stays && !m.Nodes.MayGrow(t.Node, 0, m.Holdings.Growth(l, c.Data)) {
		return
	}
	m.Holdings.Abort(h, protocol.AbortReplaced)
	m.Snapshots.TouchHolding(h)
	l.Count, l.Number = c.Count, c.Number
	l.SetTimeout(c.Timeout)
	m.Holdings.SetData(h, c.Data)
	switch {
	case isGranted:
		sem.runQueue(m, t.Object, h)
		m.Objects.Changed(t.Object, shard.FlagOwners)
	case c.Timeout == 0:
		m.Run.Answer(protocol.StatusSuccess).Limit = s.reportedLimit()
		m.Holdings.Remove(h)
		sem.afterRemoval(m, t.Object, false, head)
	default:
		m.Holdings.AnswerQueued(h, s.reportedLimit())
	}
}

// resumeAcquire answers a repeated acquire that is the session's latest acquire of the semaphore.
func resumeAcquire(m *Core, c *shard.Command, t *Target) bool {
	h := m.Holdings.Find(m.Objects.At(t.Object), t.Object, t.Session)
	if h == 0 {
		return false
	}
	o := m.Objects.At(t.Object)
	if l := m.Holdings.At(h); l.Number == c.Number && isAnotherAcquire(m, c, m.semaphores().At(o.State), l) {
		m.Run.RefuseAnother()
		return true
	}
	if o.Deleting {
		return resumeDeleted(m, c, t, h)
	}
	switch {
	case m.Holdings.At(h).Number != c.Number:
		return false
	case m.Holdings.At(h).Owner:
		m.Holdings.AnswerAcquired(h, m.semaphores().limitOf(m, t.Object))
	default:
		m.Holdings.AnswerQueued(h, m.semaphores().limitOf(m, t.Object))
	}
	return true
}

// isAnotherAcquire reports whether an acquire came under the number of a different acquire, as far as the link with
// the number shows.
func isAnotherAcquire(m *Core, c *shard.Command, s *semaphore, l *Holding) bool {
	return l.Count != c.Count || !m.Holdings.HasData(l, c.Data) ||
		s.ephemeral != (c.Flags&shard.FlagEphemeral != 0)
}

// resumeDeleted is resumeAcquire for a deleted semaphore with a pending link: the ownership of the acquire is over.
func resumeDeleted(m *Core, c *shard.Command, t *Target, h arena.Handle) bool {
	l := m.Holdings.At(h)
	if l.Number != c.Number && !m.Answers.Acquired(h, c.Number) {
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
	co := m.RLock()
	defer m.RUnlock()
	h := co.Objects.Alive(shard.KindSemaphore, c.Node, c.Name)
	if h == 0 {
		return false
	}
	o := co.Objects.At(h)
	s := co.semaphores().At(o.State)
	if c.Count > s.limit || o.FirstWaiter == 0 && s.fits(c.Count) {
		return false
	}
	session := co.Sessions.Find(c.Session)
	return session == 0 || co.Holdings.Find(o, h, session) == 0
}
