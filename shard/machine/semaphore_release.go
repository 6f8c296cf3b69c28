package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// runRelease ends the session's ownership, or takes the session out of the queue.
func runRelease(m *Core, c *shard.Command, t *target) {
	sem := m.semaphores()
	h := arena.Handle(0)
	if t.object != 0 {
		h = m.Holdings.find(m.Objects.At(t.object), t.object, t.session)
	}
	switch {
	case c.Order != 0 && (h == 0 || m.Holdings.At(h).order != c.Order):
		m.Run.Answer(protocol.StatusFenced)
		return
	case h == 0:
		m.Run.Answer(protocol.StatusSuccess)
		return
	}
	if m.Holdings.At(h).owner {
		m.Answers.End(h, protocol.AbortReleased)
	} else {
		m.Holdings.Abort(h, protocol.AbortReleased)
	}
	m.Run.Answer(protocol.StatusSuccess).Flags = shard.FlagReleased
	sem.releaseLink(m, h)
}

// releaseLink removes the link, grants its place to waiters, and notifies the watchers.
func (sem *semaphores) releaseLink(m *Core, h arena.Handle) {
	l := m.Holdings.At(h)
	object := l.object
	o := m.Objects.At(object)
	wasOwner, wasHead := l.owner, o.firstWaiter == h
	s := sem.At(o.body)
	if wasOwner {
		s.removeOwner(l.count)
		m.History.record(&m.Objects.At(object).track, l.order)
	}
	m.Holdings.Remove(h)
	sem.afterRemoval(m, object, wasOwner, wasHead)
}

// afterRemoval does the consequences of a removed link.
func (sem *semaphores) afterRemoval(m *Core, object arena.Handle, wasOwner, wasHead bool) {
	o := m.Objects.At(object)
	if o.deleting {
		if o.linkCount == 0 {
			m.Objects.Remove(object)
		}
		return
	}
	granted := (wasOwner || wasHead) && sem.runQueue(m, object, 0)
	switch {
	case sem.At(o.body).ephemeral && o.linkCount == 0:
		m.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
		m.Objects.Remove(object)
	case wasOwner || granted:
		m.Objects.Changed(object, shard.FlagOwners)
	}
}

// resume goes on with the queue run of a command.
func (sem *semaphores) resume(m *Core, object arena.Handle) {
	if sem.runQueue(m, object, 0) {
		m.Objects.Changed(object, shard.FlagOwners)
	}
}

// due is for kinds with alarms.
func (sem *semaphores) due(*Core, arena.Handle) { assert.That(false, "a semaphore has no alarm") }

// runQueue grants to the head of the queue while the head fits, and reports whether it granted at all. Grants beyond
// the work of the command are pending. The grant of the link own is the current command's answer; all other waiters
// get Granted. If the limit was lowered below the count of the head, the head is aborted, so that it does not stand
// in the way of the waiters behind it.
func (sem *semaphores) runQueue(m *Core, object, own arena.Handle) bool {
	o := m.Objects.At(object)
	s := sem.At(o.body)
	granted := false
	for h := o.firstWaiter; h != 0; h = o.firstWaiter {
		l := m.Holdings.At(h)
		if l.count <= s.limit && !s.fits(l.count) {
			break
		}
		if m.Run.Left <= 0 {
			m.Pending.Defer(object)
			break
		}
		if l.count > s.limit {
			m.Holdings.Abort(h, protocol.AbortResized)
			m.Holdings.Remove(h)
			continue
		}
		m.Run.Left--
		m.Snapshots.TouchHolding(h)
		l.owner, l.since = true, m.Run.Wall
		m.Holdings.CountWaiter(l.session, -1)
		s.addOwner(l.count)
		o.firstWaiter = m.Holdings.byObject.Next(h)
		m.History.record(&m.Objects.At(object).track, l.order)
		granted = true
		if h == own {
			m.Holdings.AnswerAcquired(h, s.reportedLimit())
			continue
		}
		m.Holdings.Emit(shard.EffectGranted, h)
		m.Answers.Record(l.session, l.number, answer{flags: shard.FlagAcquired, order: l.order})
	}
	return granted
}
