package machine

import (
	"slices"

	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// A command does a bounded amount of work. Each released or granted link, and each removed session or object, is a
// piece of work. Work that a command has begun and not finished is pending: it is part of the state, and CmdContinue
// continues it, in the order in which it became pending. DESIGN.md, section 6, says what holds meanwhile.

// pendingWork is either an ended session that still has links, or an object. The object is deleted and still has
// links, or has waiters at its head that fit.
type pendingWork struct {
	session, object arena.Handle
}

// ownTouches is how often a command may touch its own link, beside the links of its pieces of work.
const ownTouches = shard.MaxTouched - shard.MaxWork

// deferSession leaves the links of an ended session to CmdContinue.
func (m *Machine) deferSession(h arena.Handle) {
	if s := m.sessions.At(h); !s.ending {
		s.ending = true
		m.pending = append(m.pending, pendingWork{session: h})
	}
}

// deferObject leaves the rest of the work on an object to CmdContinue.
func (m *Machine) deferObject(h arena.Handle) {
	if o := m.objects.At(h); !o.pending {
		o.pending = true
		m.pending = append(m.pending, pendingWork{object: h})
	}
}

// endRemove ends what a command may do to delete an object: the object goes with its last link, and links that are left
// are pending.
func (m *Machine) endRemove(object arena.Handle) {
	o := m.objects.At(object)
	if o.linkCount == 0 {
		m.removeObject(object)
		return
	}
	o.deleting = true
	m.deferObject(object)
}

// removeParts deletes an object with its links, each after notify, for kinds whose links need nothing else.
func (m *Machine) removeParts(object arena.Handle, notify func(m *Machine, link arena.Handle)) {
	o := m.objects.At(object)
	if !o.deleting {
		m.changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	for o.linkCount > 0 && m.left > 0 {
		h := m.links.byObject.First(o.links)
		notify(m, h)
		m.removeLink(h)
	}
	m.endRemove(object)
}

// removedWithObject removes the link of an ended session if the object is being deleted, and the object with its last
// link. It returns false for all other objects.
func (m *Machine) removedWithObject(link arena.Handle) bool {
	object := m.links.At(link).object
	o := m.objects.At(object)
	if !o.deleting {
		return false
	}
	m.removeLink(link)
	if o.linkCount == 0 {
		m.removeObject(object)
	}
	return true
}

// removePending takes finished work off the list.
func (m *Machine) removePending(p pendingWork) {
	i := slices.Index(m.pending, p)
	assert.That(i >= 0, "what is marked as pending is on the list")
	m.pending = slices.Delete(m.pending, i, i+1)
}

// continueWork continues the pending work. Work that stays unfinished goes to the end of the list.
func (m *Machine) continueWork() {
	for len(m.pending) > 0 && m.left > 0 {
		p := m.pending[0]
		m.pending = slices.Delete(m.pending, 0, 1)
		if p.session != 0 {
			m.sessions.At(p.session).ending = false // releaseLinks defers the session again if links are left
			m.releaseLinks(p.session)
			continue
		}
		o := m.objects.At(p.object)
		o.pending = false
		if o.deleting {
			m.kinds[o.kind].remove(m, p.object)
		} else {
			m.kinds[o.kind].resume(m, p.object)
		}
	}
	m.answerMore(len(m.pending) > 0)
}

// answerMore answers a command that may have done only a part.
func (m *Machine) answerMore(more bool) {
	if e := m.answer(protocol.StatusSuccess); more {
		e.Flags = shard.FlagMore
	}
}

// pendingState writes the list out.
func (m *Machine) pendingState() []shard.PendingState {
	var list []shard.PendingState
	for _, p := range m.pending {
		if p.session != 0 {
			list = append(list, shard.PendingState{Session: m.sessions.At(p.session).id})
			continue
		}
		o := m.objects.At(p.object)
		list = append(list, shard.PendingState{Node: m.objects.node(o).id, Name: m.objects.name(o),
			Deleting: o.deleting})
	}
	return list
}

// restorePending puts the list back after all sessions and objects.
func (m *Machine) restorePending(list []shard.PendingState) error {
	for _, p := range list {
		if p.Session != 0 {
			h := m.sessions.find(p.Session)
			if h == 0 || m.sessions.At(h).ending {
				return badSnapshot("session %v is pending and not there, or pending twice", p.Session)
			}
			m.deferSession(h)
			continue
		}
		h := m.objects.find(shard.ObjectHash(p.Node, []byte(p.Name)), p.Node, []byte(p.Name))
		if h == 0 || m.objects.At(h).pending {
			return badSnapshot("object %q of node %d is pending and not there, or pending twice", p.Name, p.Node)
		}
		m.objects.At(h).deleting = p.Deleting
		m.deferObject(h)
	}
	return nil
}
