package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// runRelease ends the session's ownership, or takes the session out of the queue.
func runRelease(m *Core, c *shard.Command, t *Target) {
	sem := m.semaphores()
	h := arena.Handle(0)
	if t.Object != 0 {
		h = m.Holdings.Find(m.Objects.At(t.Object), t.Object, t.Session)
	}
	switch {
	case c.Order != 0 && (h == 0 || m.Holdings.At(h).Order != c.Order):
		m.Run.Answer(protocol.StatusFenced)
		return
	case h == 0:
		m.Run.Answer(protocol.StatusSuccess)
		return
	}
	if m.Holdings.At(h).Owner {
		m.Answers.End(h, protocol.AbortReleased)
	} else {
		m.Holdings.Abort(h, protocol.AbortReleased)
	}
	m.Run.Answer(protocol.StatusSuccess).Flags = shard.FlagReleased
	sem.ReleaseHolding(m, h)
}

// ReleaseHolding removes the link, grants its place to waiters, and notifies the watchers.
func (sem *semaphores) ReleaseHolding(m *Core, h arena.Handle) {
	l := m.Holdings.At(h)
	object := l.Object
	o := m.Objects.At(object)
	wasOwner, wasHead := l.Owner, o.FirstWaiter == h
	s := sem.At(o.State)
	if wasOwner {
		s.removeOwner(l.Count)
		m.History.OwnerChanged(object, l.Order)
	}
	m.Holdings.Remove(h)
	sem.afterRemoval(m, object, wasOwner, wasHead)
}

// afterRemoval does the consequences of a removed link.
func (sem *semaphores) afterRemoval(m *Core, object arena.Handle, wasOwner, wasHead bool) {
	o := m.Objects.At(object)
	if o.Deleting {
		if o.Held == 0 {
			m.Objects.Remove(object)
		}
		return
	}
	granted := (wasOwner || wasHead) && sem.runQueue(m, object, 0)
	switch {
	case sem.At(o.State).ephemeral && o.Held == 0:
		m.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
		m.Objects.Remove(object)
	case wasOwner || granted:
		m.Objects.Changed(object, shard.FlagOwners)
	}
}

// Resume goes on with the queue run of a command.
func (sem *semaphores) Resume(m *Core, object arena.Handle) {
	if sem.runQueue(m, object, 0) {
		m.Objects.Changed(object, shard.FlagOwners)
	}
}

// Due is for kinds with alarms.
func (sem *semaphores) Due(*Core, arena.Handle) { assert.That(false, "a semaphore has no alarm") }

// runQueue grants to the head of the queue while the head fits, and reports whether it granted at all. Grants beyond
// the work of the command are pending. The grant of the link own is the current command's answer; all other waiters
// get Granted. If the limit was lowered below the count of the head, the head is aborted, so that it does not stand
// in the way of the waiters behind it.
func (sem *semaphores) runQueue(m *Core, object, own arena.Handle) bool {
	o := m.Objects.At(object)
	s := sem.At(o.State)
	granted := false
	for h := o.FirstWaiter; h != 0; h = o.FirstWaiter {
		l := m.Holdings.At(h)
		if l.Count <= s.limit && !s.fits(l.Count) {
			break
		}
		if m.Run.Left <= 0 {
			m.Pending.Defer(object)
			break
		}
		if l.Count > s.limit {
			m.Holdings.Abort(h, protocol.AbortResized)
			m.Holdings.Remove(h)
			continue
		}
		m.Holdings.Grant(h)
		s.addOwner(l.Count)
		m.History.OwnerChanged(object, l.Order)
		granted = true
		if h == own {
			m.Holdings.AnswerAcquired(h, s.reportedLimit())
			continue
		}
		m.Holdings.NotifyGranted(h)
	}
	return granted
}
