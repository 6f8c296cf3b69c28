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

// runAcquire makes the session a semaphore's owner or waiter, or changes the count and the data of its holding.
func runAcquire(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	sem := semaphoresOf(co)
	ephemeral := c.Flags&shard.FlagEphemeral != 0
	if t.Object == 0 {
		return sem.acquireNew(co, c, t, ephemeral)
	}
	o := co.Objects.At(t.Object)
	s := sem.At(o.State)
	if s.ephemeral != ephemeral {
		return machine.Outcome{Status: protocol.StatusPreconditionFailed}
	}
	h := co.Holdings.Find(o, t.Object, t.Session)
	switch {
	case c.Count > s.limit && (h == 0 || !co.Holdings.At(h).Owner):
		return machine.Outcome{Status: protocol.StatusBadRequest}
	case h == 0:
		return sem.acquireJoin(co, c, t, o, s)
	case c.Count > co.Holdings.At(h).Count:
		return machine.Outcome{Status: protocol.StatusBadRequest}
	case co.Holdings.At(h).Owner:
		return sem.acquireAsOwner(co, c, t, s, h)
	}
	return sem.acquireAsWaiter(co, c, t, o, s, h)
}

// acquireNew handles the first acquire under a name. An acquire creates only ephemeral semaphores; the session becomes
// the first owner.
func (sem *semaphores) acquireNew(co *machine.Core, c *shard.Command, t *machine.Target,
	ephemeral bool) machine.Outcome {
	if !ephemeral {
		return machine.Outcome{Status: protocol.StatusNotFound}
	}
	if refusal, _ := co.Holdings.Admits(t.Session); refusal != protocol.StatusSuccess {
		return machine.Outcome{Status: refusal}
	}
	size := shard.ObjectBytes + len(c.Name) + shard.LinkBytes + len(c.Data)
	if q := co.Nodes.Exceeded(t.Node, 1, size); q != shard.QuotaNone {
		return machine.OverQuota(q)
	}
	body := sem.Alloc()
	s := sem.At(body)
	*s = semaphore{limit: shard.Forever, ephemeral: true}
	t.Object = co.Objects.Add(shard.KindSemaphore, t, c.Node, c.Name, body)
	return sem.grantNew(co, c, t, s, shard.FlagCreated|shard.FlagOwners)
}

// acquireJoin is for a session without a holding on the semaphore: the session becomes an owner if the count is free
// and no session waits. Otherwise it joins the queue, unless the timeout is 0.
func (sem *semaphores) acquireJoin(co *machine.Core, c *shard.Command, t *machine.Target, o *machine.Object,
	s *semaphore) machine.Outcome {
	isGranted := o.FirstWaiter == 0 && s.fits(c.Count)
	if refusal, _ := co.Holdings.Admits(t.Session); refusal != protocol.StatusSuccess {
		return machine.Outcome{Status: refusal}
	}
	if !isGranted && c.Timeout == 0 {
		return machine.Outcome{Limit: s.reportedLimit()}
	}
	if q := co.Nodes.Exceeded(co.Objects.Node(o), 0, shard.LinkBytes+len(c.Data)); q != shard.QuotaNone {
		return machine.OverQuota(q)
	}
	if isGranted {
		return sem.grantNew(co, c, t, s, shard.FlagOwners)
	}
	return co.Holdings.Queued(co.Holdings.Add(t.Session, t.Object, c, false), s.reportedLimit())
}

// grantNew makes the session an owner at once, and notifies the watchers.
func (sem *semaphores) grantNew(co *machine.Core, c *shard.Command, t *machine.Target, s *semaphore,
	changed shard.EffectFlags) machine.Outcome {
	h := co.Holdings.Add(t.Session, t.Object, c, true)
	s.addOwner(c.Count)
	co.History.OwnerChanged(t.Object, co.Holdings.At(h).Order)
	co.Run.PlaceResult()
	co.Objects.Changed(t.Object, changed)
	return co.Holdings.Acquired(h, s.reportedLimit())
}

// acquireAsOwner lowers an owner's count, or replaces its data. A lower count may be enough for waiters.
func (sem *semaphores) acquireAsOwner(co *machine.Core, c *shard.Command, t *machine.Target, s *semaphore,
	h arena.Handle) machine.Outcome {
	l := co.Holdings.At(h)
	if q := co.Nodes.Exceeded(t.Node, 0, co.Holdings.Growth(l, c.Data)); q != shard.QuotaNone {
		return machine.OverQuota(q)
	}
	co.Snapshots.TouchHolding(h)
	l.Number = c.Number
	lowered, replaced := c.Count < l.Count, !co.Holdings.HasData(l, c.Data)
	co.Holdings.SetData(h, c.Data)
	co.Run.PlaceResult()
	if lowered {
		s.taken -= l.Count - c.Count
		l.Count = c.Count
		sem.runQueue(co, t.Object, 0)
	}
	if lowered || replaced {
		co.History.OwnerChanged(t.Object, l.Order)
		co.Objects.Changed(t.Object, shard.FlagOwners)
	}
	return co.Holdings.Acquired(h, s.reportedLimit())
}

// acquireAsWaiter replaces the waiting acquire by a new acquire at the same position.
func (sem *semaphores) acquireAsWaiter(co *machine.Core, c *shard.Command, t *machine.Target, o *machine.Object,
	s *semaphore, h arena.Handle) machine.Outcome {
	l := co.Holdings.At(h)
	head := o.FirstWaiter == h
	isGranted := head && s.fits(c.Count)
	if isGranted || c.Timeout != 0 { // the session stays
		if q := co.Nodes.Exceeded(t.Node, 0, co.Holdings.Growth(l, c.Data)); q != shard.QuotaNone {
			return machine.OverQuota(q)
		}
	}
	co.Holdings.Abort(h, protocol.AbortReplaced)
	co.Snapshots.TouchHolding(h)
	l.Count, l.Number = c.Count, c.Number
	co.Holdings.SetTimeout(h, c.Timeout)
	co.Holdings.SetData(h, c.Data)
	switch {
	case isGranted:
		co.Run.PlaceResult()
		sem.runQueue(co, t.Object, h)
		co.Objects.Changed(t.Object, shard.FlagOwners)
		return co.Holdings.Acquired(h, s.reportedLimit())
	case c.Timeout == 0:
		limit := s.reportedLimit()
		co.Run.PlaceResult()
		co.Holdings.Remove(h)
		sem.afterRemoval(co, t.Object, false, head)
		return machine.Outcome{Limit: limit}
	}
	return co.Holdings.Queued(h, s.reportedLimit())
}

// resumeAcquire answers a repeated acquire that is the session's latest acquire on the semaphore. The holding shows the
// acquire's result, even if the earlier answer was only that the acquire is queued.
func resumeAcquire(co *machine.Core, c *shard.Command, t *machine.Target) (o machine.Outcome, ok bool) {
	object := co.Objects.At(t.Object)
	h := co.Holdings.Find(object, t.Object, t.Session)
	if h == 0 {
		return o, false
	}
	s, l := semaphoresOf(co).At(object.State), co.Holdings.At(h)
	switch {
	case l.Number == c.Number && isAnotherAcquire(co, c, s, l):
		return machine.Outcome{Status: protocol.StatusSequenceReused}, true
	case object.Deleting && (l.Number == c.Number || co.Answers.Acquired(h, c.Number)): // the ownership is over
		co.Run.PlaceResult().Abort = protocol.AbortDeleted
		return machine.Outcome{Status: protocol.StatusAborted}, true
	case object.Deleting:
		return o, false
	case l.Number != c.Number:
		return o, false
	case l.Owner:
		return co.Holdings.Acquired(h, s.reportedLimit()), true
	}
	return co.Holdings.Queued(h, s.reportedLimit()), true
}

// isAnotherAcquire reports whether the acquire's number was used for a different acquire before, as far as the holding
// with the number shows.
func isAnotherAcquire(co *machine.Core, c *shard.Command, s *semaphore, l *machine.Holding) bool {
	return l.Count != c.Count || !co.Holdings.HasData(l, c.Data) ||
		s.ephemeral != (c.Flags&shard.FlagEphemeral != 0)
}

// WillQueue reports whether an acquire would be queued if it were applied now, and so would wait for an owner to
// release. The result is a forecast: WillQueue does not perform all checks.
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
