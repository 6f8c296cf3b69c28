package machine

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// runRelease ends the session's ownership, or takes the session out of the queue.
func runRelease(m *Machine, c *shard.Command, t *target) {
	sem := m.semaphores()
	h := arena.Handle(0)
	if t.object != 0 {
		h = m.links.find(m.objects.At(t.object), t.object, t.session)
	}
	switch {
	case c.Order != 0 && (h == 0 || m.links.At(h).order != c.Order):
		m.answer(protocol.StatusFenced)
		return
	case h == 0:
		m.answer(protocol.StatusSuccess)
		return
	}
	if m.links.At(h).owner {
		m.endAnswers(h, protocol.AbortReleased)
	} else {
		m.abort(h, protocol.AbortReleased)
	}
	m.answer(protocol.StatusSuccess).Flags = shard.FlagReleased
	sem.releaseLink(m, h)
}

// releaseLink removes the link, grants its place to waiters, and notifies the watchers.
func (sem *semaphores) releaseLink(m *Machine, h arena.Handle) {
	l := m.links.At(h)
	object := l.object
	o := m.objects.At(object)
	wasOwner, wasHead := l.owner, o.firstWaiter == h
	s := sem.At(o.body)
	if wasOwner {
		s.removeOwner(l.count)
		m.recordRowChange(&m.objects.At(object).track, l.order)
	}
	m.removeLink(h)
	sem.afterRemoval(m, object, wasOwner, wasHead)
}

// afterRemoval does the consequences of a removed link.
func (sem *semaphores) afterRemoval(m *Machine, object arena.Handle, wasOwner, wasHead bool) {
	o := m.objects.At(object)
	if o.deleting {
		if o.linkCount == 0 {
			m.removeObject(object)
		}
		return
	}
	granted := (wasOwner || wasHead) && sem.runQueue(m, object, 0)
	switch {
	case sem.At(o.body).ephemeral && o.linkCount == 0:
		m.changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
		m.removeObject(object)
	case wasOwner || granted:
		m.changed(object, shard.FlagOwners)
	}
}

// resume goes on with the queue run of a command.
func (sem *semaphores) resume(m *Machine, object arena.Handle) {
	if sem.runQueue(m, object, 0) {
		m.changed(object, shard.FlagOwners)
	}
}

// due is for kinds with alarms.
func (sem *semaphores) due(*Machine, arena.Handle) { assert.That(false, "a semaphore has no alarm") }

// runQueue grants to the head of the queue while the head fits, and reports whether it granted at all. Grants beyond
// the work of the command are pending. The grant of the link own is the current command's answer; all other waiters
// get Granted. If the limit was lowered below the count of the head, the head is aborted, so that it does not stand
// in the way of the waiters behind it.
func (sem *semaphores) runQueue(m *Machine, object, own arena.Handle) bool {
	o := m.objects.At(object)
	s := sem.At(o.body)
	granted := false
	for h := o.firstWaiter; h != 0; h = o.firstWaiter {
		l := m.links.At(h)
		if l.count <= s.limit && !s.fits(l.count) {
			break
		}
		if m.left <= 0 {
			m.deferObject(object)
			break
		}
		if l.count > s.limit {
			m.abort(h, protocol.AbortResized)
			m.removeLink(h)
			continue
		}
		m.left--
		m.touchLink(h)
		l.owner, l.since = true, m.wall
		m.countWaiter(l.session, -1)
		s.addOwner(l.count)
		o.firstWaiter = m.links.byObject.Next(h)
		m.recordRowChange(&m.objects.At(object).track, l.order)
		granted = true
		if h == own {
			m.answerAcquired(h, s.reportedLimit())
			continue
		}
		m.emitFor(shard.EffectGranted, h)
		m.recordOutcome(l.session, l.number, answer{flags: shard.FlagAcquired, order: l.order})
	}
	return granted
}
