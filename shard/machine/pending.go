package machine

import (
	"slices"

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

// Pending is the work that commands have begun and not finished.
type Pending struct {
	core *Core
	list []pendingWork
}

// ownTouches is how often a command may touch its own link, beside the links of its pieces of work.
const ownTouches = shard.MaxTouched - shard.MaxWork

// deferSession leaves the links of an ended session to CmdContinue.
func (pe *Pending) deferSession(h arena.Handle) {
	if s := pe.core.Sessions.At(h); !s.ending {
		s.ending = true
		pe.list = append(pe.list, pendingWork{session: h})
	}
}

// Defer leaves the rest of the work on an object to CmdContinue.
func (pe *Pending) Defer(h arena.Handle) {
	if o := pe.core.Objects.At(h); !o.Pending {
		o.Pending = true
		pe.list = append(pe.list, pendingWork{object: h})
	}
}

// EndRemove ends what a command may do to delete an object: the object goes with its last link, and links that are left
// are pending.
func (pe *Pending) EndRemove(object arena.Handle) {
	o := pe.core.Objects.At(object)
	if o.Held == 0 {
		pe.core.Objects.Remove(object)
		return
	}
	o.Deleting = true
	pe.Defer(object)
}

// RemoveAll deletes an object with its links, each after notify, for kinds whose links need nothing else.
func (pe *Pending) RemoveAll(object arena.Handle, notify func(m *Core, link arena.Handle)) {
	o := pe.core.Objects.At(object)
	if !o.Deleting {
		pe.core.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	for o.Held > 0 && pe.core.Run.Left > 0 {
		h := pe.core.Holdings.byObject.First(o.holdings)
		notify(pe.core, h)
		pe.core.Holdings.Remove(h)
	}
	pe.EndRemove(object)
}

// RemovedWithObject removes the link of an ended session if the object is being deleted, and the object with its last
// link. It returns false for all other objects.
func (pe *Pending) RemovedWithObject(link arena.Handle) bool {
	object := pe.core.Holdings.At(link).Object
	o := pe.core.Objects.At(object)
	if !o.Deleting {
		return false
	}
	pe.core.Holdings.Remove(link)
	if o.Held == 0 {
		pe.core.Objects.Remove(object)
	}
	return true
}

// remove takes finished work off the list.
func (pe *Pending) remove(p pendingWork) {
	i := slices.Index(pe.list, p)
	assert.That(i >= 0, "what is marked as pending is on the list")
	pe.list = slices.Delete(pe.list, i, i+1)
}

// proceed continues the pending work. Work that stays unfinished goes to the end of the list.
func (pe *Pending) proceed() Outcome {
	for len(pe.list) > 0 && pe.core.Run.Left > 0 {
		p := pe.list[0]
		pe.list = slices.Delete(pe.list, 0, 1)
		if p.session != 0 {
			pe.core.Sessions.At(p.session).ending = false // releaseHoldings defers the session again if links are left
			pe.core.Sessions.releaseHoldings(p.session)
			continue
		}
		o := pe.core.Objects.At(p.object)
		o.Pending = false
		if o.Deleting {
			pe.core.kinds[o.Kind].Remove(pe.core, p.object)
		} else {
			pe.core.kinds[o.Kind].Resume(pe.core, p.object)
		}
	}
	return Partly(len(pe.list) > 0)
}

// state writes the list out.
func (pe *Pending) state() []shard.PendingState {
	var list []shard.PendingState
	for _, p := range pe.list {
		if p.session != 0 {
			list = append(list, shard.PendingState{Session: pe.core.Sessions.At(p.session).id})
			continue
		}
		o := pe.core.Objects.At(p.object)
		list = append(list, shard.PendingState{Node: pe.core.Objects.Node(o).ID, Name: pe.core.Objects.Name(o),
			Deleting: o.Deleting})
	}
	return list
}

// restore puts the list back after all sessions and objects.
func (pe *Pending) restore(list []shard.PendingState) error {
	for _, p := range list {
		if p.Session != 0 {
			h := pe.core.Sessions.Find(p.Session)
			if h == 0 || pe.core.Sessions.At(h).ending {
				return BadSnapshot("session %v is pending and not there, or pending twice", p.Session)
			}
			pe.deferSession(h)
			continue
		}
		h := pe.core.Objects.find(shard.ObjectHash(p.Node, []byte(p.Name)), p.Node, []byte(p.Name))
		if h == 0 || pe.core.Objects.At(h).Pending {
			return BadSnapshot("object %q of node %d is pending and not there, or pending twice", p.Name, p.Node)
		}
		pe.core.Objects.At(h).Deleting = p.Deleting
		pe.Defer(h)
	}
	return nil
}
