package semaphore

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/internal/arena"
	"github.com/signalbox/signalbox/shard/machine"
)

// runRelease ends the session's ownership, or takes the session out of the queue.
func runRelease(co *machine.Core, c *shard.Command, t *machine.Target) machine.Outcome {
	sem := semaphoresOf(co)
	h := arena.Handle(0)
	if t.Object != 0 {
		h = co.Holdings.Find(co.Objects.At(t.Object), t.Object, t.Session)
	}
	switch {
	case c.Order != 0 && (h == 0 || co.Holdings.At(h).Order != c.Order):
		return machine.Outcome{Status: protocol.StatusFenced}
	case h == 0:
		return machine.Outcome{}
	}
	if co.Holdings.At(h).Owner {
		co.Answers.End(h, protocol.AbortReleased)
	} else {
		co.Holdings.Abort(h, protocol.AbortReleased)
	}
	co.Run.PlaceResult()
	sem.ReleaseHolding(co, h)
	return machine.Outcome{Flags: shard.FlagReleased}
}

// ReleaseHolding removes a holding, grants the freed units to waiters, and notifies the watchers. When a session ends,
// the machine calls ReleaseHolding for each holding.
func (sem *semaphores) ReleaseHolding(co *machine.Core, h arena.Handle) {
	l := co.Holdings.At(h)
	object := l.Object
	o := co.Objects.At(object)
	wasOwner, wasHead := l.Owner, o.FirstWaiter == h
	s := sem.At(o.State)
	if wasOwner {
		s.removeOwner(l.Count)
		co.History.OwnerChanged(object, l.Order)
	}
	co.Holdings.Remove(h)
	sem.afterRemoval(co, object, wasOwner, wasHead)
}

// afterRemoval handles the consequences of a removed holding: waiters are granted if an owner or the first waiter has
// left, and an ephemeral semaphore ends with the last holding.
func (sem *semaphores) afterRemoval(co *machine.Core, object arena.Handle, wasOwner, wasHead bool) {
	o := co.Objects.At(object)
	if o.Deleting {
		if o.Held == 0 {
			co.Objects.Remove(object)
		}
		return
	}
	granted := (wasOwner || wasHead) && sem.runQueue(co, object, 0)
	switch {
	case sem.At(o.State).ephemeral && o.Held == 0:
		co.Objects.Changed(object, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
		co.Objects.Remove(object)
	case wasOwner || granted:
		co.Objects.Changed(object, shard.FlagOwners)
	}
}

// Resume continues a queue run after the command's work was used up.
func (sem *semaphores) Resume(co *machine.Core, object arena.Handle) {
	if sem.runQueue(co, object, 0) {
		co.Objects.Changed(object, shard.FlagOwners)
	}
}

// runQueue grants to the head of the queue while the head fits, and reports whether a waiter was granted. Grants beyond
// the command's work are pending. The grant to the holding own is the current command's outcome; all other waiters get
// Granted. If the limit was lowered below the head's count, the head is aborted, so the waiters behind are not blocked.
func (sem *semaphores) runQueue(co *machine.Core, object, own arena.Handle) bool {
	o := co.Objects.At(object)
	s := sem.At(o.State)
	granted := false
	for h := o.FirstWaiter; h != 0; h = o.FirstWaiter {
		l := co.Holdings.At(h)
		if l.Count <= s.limit && !s.fits(l.Count) {
			break
		}
		if co.Run.Left <= 0 {
			co.Pending.Defer(object)
			break
		}
		if l.Count > s.limit {
			co.Holdings.Abort(h, protocol.AbortResized)
			co.Holdings.Remove(h)
			continue
		}
		co.Holdings.Grant(h)
		s.addOwner(l.Count)
		co.History.OwnerChanged(object, l.Order)
		granted = true
		if h != own {
			co.Holdings.NotifyGranted(h)
		}
	}
	return granted
}
