package semaphore

import (
	"time"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// acquireForm checks the count, and that the timeout is Forever or at most MaxAcquireTimeout.
func acquireForm(c *shard.Command) bool {
	return c.Count > 0 &&
		(c.Timeout == shard.Forever || c.Timeout <= uint64(shard.MaxAcquireTimeout/time.Millisecond))
}

// runAcquire makes the session an owner or a waiter of a semaphore, or changes the count and the data of its holding.
func runAcquire(co *machine.Core, c *shard.Command, t *machine.Target) {
	sem := semaphoresOf(co)
	ephemeral := c.Flags&shard.FlagEphemeral != 0
	if t.Object == 0 {
		sem.acquireNew(co, c, t, ephemeral)
		return
	}
	o := co.Objects.At(t.Object)
	s := sem.At(o.State)
	if s.ephemeral != ephemeral {
		co.Run.Answer(protocol.StatusPreconditionFailed)
		return
	}
	h := co.Holdings.Find(o, t.Object, t.Session)
	switch {
	case c.Count > s.limit && (h == 0 || !co.Holdings.At(h).Owner):
		co.Run.Answer(protocol.StatusBadRequest)
	case h == 0:
		sem.acquireJoin(co, c, t, o, s)
	case c.Count > co.Holdings.At(h).Count:
		co.Run.Answer(protocol.StatusBadRequest)
	case co.Holdings.At(h).Owner:
		sem.acquireAsOwner(co, c, t, s, h)
	default:
		sem.acquireAsWaiter(co, c, t, o, s, h)
	}
}

// acquireNew is the first acquire of a name. Only an ephemeral semaphore is created by an acquire; the session becomes
// its first owner.
func (sem *semaphores) acquireNew(co *machine.Core, c *shard.Command, t *machine.Target, ephemeral bool) {
	if !ephemeral {
		co.Run.Answer(protocol.StatusNotFound)
		return
	}
	if refusal, _ := co.Holdings.Admits(t.Session); refusal != protocol.StatusSuccess {
		co.Run.Answer(refusal)
		return
	}
	if !co.Nodes.MayGrow(t.Node, 1, shard.ObjectBytes+len(c.Name)+shard.LinkBytes+len(c.Data)) {
		return
	}
	body := sem.Alloc()
	s := sem.At(body)
	*s = semaphore{limit: shard.Forever, ephemeral: true}
	t.Object = co.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	sem.grantNew(co, c, t, s)
	co.Objects.Changed(t.Object, shard.FlagCreated|shard.FlagOwners)
}

// acquireJoin is for a session without a holding of the semaphore: the session becomes an owner if the count is free
// and no session waits. Otherwise it joins the queue, unless the timeout is 0.
func (sem *semaphores) acquireJoin(co *machine.Core, c *shard.Command, t *machine.Target, o *machine.Object,
	s *semaphore) {
	isGranted := o.FirstWaiter == 0 && s.fits(c.Count)
	switch refusal, _ := co.Holdings.Admits(t.Session); {
	case refusal != protocol.StatusSuccess:
		co.Run.Answer(refusal)
	case !isGranted && c.Timeout == 0:
		co.Run.Answer(protocol.StatusSuccess).Limit = s.reportedLimit()
	case !co.Nodes.MayGrow(co.Objects.Node(o), 0, shard.LinkBytes+len(c.Data)):
	case isGranted:
		sem.grantNew(co, c, t, s)
		co.Objects.Changed(t.Object, shard.FlagOwners)
	default:
		co.Holdings.AnswerQueued(co.Holdings.Add(t.Session, t.Object, c, false), s.reportedLimit())
	}
}

// grantNew makes the session an owner at once.
func (sem *semaphores) grantNew(co *machine.Core, c *shard.Command, t *machine.Target, s *semaphore) {
	h := co.Holdings.Add(t.Session, t.Object, c, true)
	s.addOwner(c.Count)
	co.History.OwnerChanged(t.Object, co.Holdings.At(h).Order)
	co.Holdings.AnswerAcquired(h, s.reportedLimit())
}

// acquireAsOwner lowers the count of an owner, or replaces its data. A lower count may be enough for waiters.
func (sem *semaphores) acquireAsOwner(co *machine.Core, c *shard.Command, t *machine.Target, s *semaphore,
	h arena.Handle) {
	l := co.Holdings.At(h)
	if !co.Nodes.MayGrow(t.Node, 0, co.Holdings.Growth(l, c.Data)) {
		return
	}
	co.Snapshots.TouchHolding(h)
	l.Number = c.Number
	lowered, replaced := c.Count < l.Count, !co.Holdings.HasData(l, c.Data)
	co.Holdings.SetData(h, c.Data)
	co.Holdings.AnswerAcquired(h, s.reportedLimit())
	if lowered {
		s.taken -= l.Count - c.Count
		l.Count = c.Count
		sem.runQueue(co, t.Object, 0)
	}
	if lowered || replaced {
		co.History.OwnerChanged(t.Object, l.Order)
		co.Objects.Changed(t.Object, shard.FlagOwners)
	}
}

// acquireAsWaiter replaces the waiting acquire by a new acquire at the same position.
func (sem *semaphores) acquireAsWaiter(co *machine.Core, c *shard.Command, t *machine.Target, o *machine.Object,
	s *semaphore, h arena.Handle) {
	l := co.Holdings.At(h)
	head := o.FirstWaiter == h
	isGranted := head && s.fits(c.Count)
	if stays := isGranted || c.Timeout != 0; stays && !co.Nodes.MayGrow(t.Node, 0, co.Holdings.Growth(l, c.Data)) {
		return
	}
	co.Holdings.Abort(h, protocol.AbortReplaced)
	co.Snapshots.TouchHolding(h)
	l.Count, l.Number = c.Count, c.Number
	l.SetTimeout(c.Timeout)
	co.Holdings.SetData(h, c.Data)
	switch {
	case isGranted:
		sem.runQueue(co, t.Object, h)
		co.Objects.Changed(t.Object, shard.FlagOwners)
	case c.Timeout == 0:
		co.Run.Answer(protocol.StatusSuccess).Limit = s.reportedLimit()
		co.Holdings.Remove(h)
		sem.afterRemoval(co, t.Object, false, head)
	default:
		co.Holdings.AnswerQueued(h, s.reportedLimit())
	}
}

// resumeAcquire answers a repeated acquire that is the session's latest acquire of the semaphore. The holding says what
// became of the acquire, also if the answer of then was only that it is queued.
func resumeAcquire(co *machine.Core, c *shard.Command, t *machine.Target) bool {
	h := co.Holdings.Find(co.Objects.At(t.Object), t.Object, t.Session)
	if h == 0 {
		return false
	}
	o := co.Objects.At(t.Object)
	if l := co.Holdings.At(h); l.Number == c.Number && isAnotherAcquire(co, c, semaphoresOf(co).At(o.State), l) {
		co.Run.RefuseAnother()
		return true
	}
	if o.Deleting {
		return resumeDeleted(co, c, t, h)
	}
	switch {
	case co.Holdings.At(h).Number != c.Number:
		return false
	case co.Holdings.At(h).Owner:
		co.Holdings.AnswerAcquired(h, semaphoresOf(co).limitOf(co, t.Object))
	default:
		co.Holdings.AnswerQueued(h, semaphoresOf(co).limitOf(co, t.Object))
	}
	return true
}

// isAnotherAcquire reports whether an acquire came under the number of a different acquire, as far as the holding
// with the number shows.
func isAnotherAcquire(co *machine.Core, c *shard.Command, s *semaphore, l *machine.Holding) bool {
	return l.Count != c.Count || !co.Holdings.HasData(l, c.Data) ||
		s.ephemeral != (c.Flags&shard.FlagEphemeral != 0)
}

// resumeDeleted is resumeAcquire for a deleted semaphore with a pending holding: the ownership of the acquire is over.
func resumeDeleted(co *machine.Core, c *shard.Command, t *machine.Target, h arena.Handle) bool {
	l := co.Holdings.At(h)
	if l.Number != c.Number && !co.Answers.Acquired(h, c.Number) {
		return false
	}
	co.Run.Answer(protocol.StatusAborted).Abort = protocol.AbortDeleted
	return true
}

// WillQueue reports whether an acquire would be queued if it were applied now, and so would wait for an owner to
// release. The result is a forecast: WillQueue does not make all checks of an acquire.
func WillQueue(m *machine.Machine, c *shard.Command) bool {
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
	s := semaphoresOf(co).At(o.State)
	if c.Count > s.limit || o.FirstWaiter == 0 && s.fits(c.Count) {
		return false
	}
	session := co.Sessions.Find(c.Session)
	return session == 0 || co.Holdings.Find(o, h, session) == 0
}
