package machine

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/internal/assert"
)

// A command does a bounded amount of work. Releasing or granting a holding, and removing a session or object, is one
// piece of work each. Work a command has begun and not finished is pending: it is part of the state, and CmdContinue
// continues it, oldest first. DESIGN.md, section 6, lists the guarantees that hold meanwhile.

// pendingWork is either an ended session with holdings left, or an object. The object is deleted with holdings left, or
// the waiters at its head fit and can be granted.
type pendingWork struct {
	session, object arena.Handle
}

// Pending is the work that commands have left unfinished.
type Pending struct {
	core *Core
	list []pendingWork
}

// ownTouches is how often a command may touch its own holding, in addition to the holdings in its pieces of work.
const ownTouches = shard.MaxTouched - shard.MaxWork

// deferSession leaves an ended session's holdings to CmdContinue.
func (pe *Pending) deferSession(h arena.Handle) {
	if s := pe.core.Sessions.At(h); !s.ending {
		s.ending = true
		pe.list = append(pe.list, pendingWork{session: h})
	}
}

// Defer leaves an object's remaining work to CmdContinue.
func (pe *Pending) Defer(h arena.Handle) {
	if o := pe.core.Objects.At(h); !o.Pending {
		o.Pending = true
		pe.list = append(pe.list, pendingWork{object: h})
	}
}

// EndRemove ends a command's work on deleting an object: the object goes with its last holding; remaining holdings are
// pending.
func (pe *Pending) EndRemove(object arena.Handle) {
	o := pe.core.Objects.At(object)
	if o.Held == 0 {
		pe.core.Objects.Remove(object)
		return
	}
	o.Deleting = true
	pe.Defer(object)
}

// RemoveAll deletes an object with its holdings, calling notify for each, for kinds whose holdings need nothing else.
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

// RemovedWithObject handles an ended session's holding on an object under deletion: it removes the holding, and the
// object with the last holding. For all other objects it returns false.
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
			pe.core.Sessions.At(p.session).ending = false // deferred again if holdings are left
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

// state returns the list in plain form.
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

// restore rebuilds the list once all sessions and objects are restored.
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
