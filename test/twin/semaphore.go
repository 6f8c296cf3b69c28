package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// semaphore is one semaphore with its links, by order id.
type semaphore struct {
	place
	data      string
	limit     uint64
	ephemeral bool
	revision  shard.Revision
	links     []*link
	deleting  bool // deleted, with links still to be removed
}

// link is a session's ownership of a semaphore, or its queue position.
type link struct {
	session shard.SessionID
	order   shard.OrderID
	count   uint64
	data    string
	timeout uint64
	number  uint64
	owner   bool
	since   uint64
	// deadline is the shard time at which its wait ends; 0 for never.
	deadline uint64
}

func (sem *semaphore) state() shard.SemaphoreState {
	state := shard.SemaphoreState{Node: sem.node, SemaphoreView: shard.SemaphoreView{
		Name:      sem.name,
		Data:      sem.data,
		Limit:     sem.limit,
		Ephemeral: sem.ephemeral,
		Revision:  sem.revision,
	}}
	for _, l := range sem.links {
		if l.owner {
			state.Count += l.count
			state.Owners++
		} else {
			state.Waiters++
		}
		state.Links = append(state.Links, shard.LinkState{
			Session: l.session,
			Order:   l.order,
			Count:   l.count,
			Data:    l.data,
			Timeout: l.timeout,
			Number:  l.number,
			Owner:   l.owner,
			Since:   l.since,

			Deadline: l.deadline,
		})
	}
	return state
}

func (sem *semaphore) linkOf(id shard.SessionID) *link {
	for _, l := range sem.links {
		if l.session == id {
			return l
		}
	}
	return nil
}

// head returns the first waiter, or nil.
func (sem *semaphore) head() *link {
	for _, l := range sem.links {
		if !l.owner {
			return l
		}
	}
	return nil
}

// answeredLimit is the limit in the answers to acquires.
func (sem *semaphore) answeredLimit() uint64 {
	if sem.ephemeral {
		return 0
	}
	return sem.limit
}

// free returns the limit minus the owners' counts, 0 if negative.
func (sem *semaphore) free() uint64 {
	free := sem.limit
	for _, l := range sem.links {
		if l.owner {
			free -= min(free, l.count)
		}
	}
	return free
}

func (sem *semaphore) remove(gone *link) {
	var left []*link
	for _, l := range sem.links {
		if l != gone {
			left = append(left, l)
		}
	}
	sem.links = left
}

// about returns an effect about the acquire or the ownership of the link's session.
func (sem *semaphore) about(l *link, kind shard.EffectKind) shard.Effect {
	return shard.Effect{
		Kind:    kind,
		Node:    sem.node,
		Name:    sem.name,
		Session: l.session,
		Number:  l.number,
		Order:   l.order,
	}
}

// changed gives the semaphore its next revision and emits Changed.
func (t *Twin) changed(sem *semaphore, flags shard.EffectFlags) {
	t.lastRevision++
	sem.revision = t.lastRevision
	t.emit(shard.Effect{
		Kind:     shard.EffectChanged,
		Object:   shard.KindSemaphore,
		Flags:    flags,
		Node:     sem.node,
		Name:     sem.name,
		Revision: sem.revision,
	})
}

// changedOwners is changed(owners), or the end of an ephemeral semaphore without links.
func (t *Twin) changedOwners(sem *semaphore) {
	if sem.ephemeral && len(sem.links) == 0 {
		t.changed(sem, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
		t.removeSemaphore(sem)
		return
	}
	t.changed(sem, shard.FlagOwners)
}

// runQueue grants waiters from the head while they fit, and reports whether it granted any. Heads requesting more than
// the limit are aborted.
func (t *Twin) runQueue(sem *semaphore) bool {
	granted := false
	for l := sem.head(); l != nil && (l.count > sem.limit || l.count <= sem.free()); l = sem.head() {
		if t.left <= 0 {
			t.keepPending(pending{sem: sem})
			break
		}
		if l.count > sem.limit {
			t.abort(sem, l, protocol.AbortResized)
			t.unlink(sem, l)
			continue
		}
		t.left--
		t.become(l, t.wall)
		t.sessions[l.session].updateAnswer(l, shard.AnswerState{
			Status: protocol.StatusSuccess,
			Flags:  shard.FlagAcquired,
			Order:  l.order,
		})
		t.emit(sem.about(l, shard.EffectGranted))
		granted = true
	}
	return granted
}

// become turns a waiter into an owner.
func (t *Twin) become(l *link, since uint64) {
	l.owner, l.since = true, since
	if t.mistake != KeepsAlarms {
		l.deadline = 0
	}
}

// afterRemoval handles the consequences of a removed link: an owner, a waiter at the head, or another waiter.
func (t *Twin) afterRemoval(sem *semaphore, wasOwner, wasHead bool) {
	granted := false
	if wasOwner || wasHead {
		granted = t.runQueue(sem)
	}
	if wasOwner || granted || sem.ephemeral && len(sem.links) == 0 {
		t.changedOwners(sem)
	}
}

// abort ends a waiting acquire, with an effect and in its cached answer.
func (t *Twin) abort(sem *semaphore, l *link, reason protocol.AbortReason) {
	t.sessions[l.session].updateAnswer(l, shard.AnswerState{
		Status: protocol.StatusAborted,
		Abort:  reason,
	})
	e := sem.about(l, shard.EffectAborted)
	e.Abort = reason
	t.emit(e)
}

// abortKeptAnswers turns every cached answer that granted the link into ABORTED.
func (t *Twin) abortKeptAnswers(l *link, reason protocol.AbortReason) {
	s := t.sessions[l.session]
	for _, a := range s.answers {
		if a.Flags == shard.FlagAcquired && a.Order == l.order {
			s.replaceAnswer(a, shard.AnswerState{Status: protocol.StatusAborted, Abort: reason})
		}
	}
}

// destroy is a forced delete without R: first the waiters are removed, then the owners, up to the work limit. The
// cached answer of an owner's acquire becomes ABORTED, so that a repetition does not report ownership.
func (t *Twin) destroy(sem *semaphore) {
	for len(sem.links) > 0 && t.left > 0 {
		if l := sem.head(); l != nil {
			t.abort(sem, l, protocol.AbortDeleted)
			t.unlink(sem, l)
			continue
		}
		l := sem.links[0]
		t.abortKeptAnswers(l, protocol.AbortDeleted)
		lost := sem.about(l, shard.EffectLost)
		if owner := t.sessions[l.session]; !owner.home && t.mistake != CountsNoLosses {
			owner.losses++
			lost.Limit = owner.losses
		}
		t.emit(lost)
		t.unlink(sem, l)
	}
	if !sem.deleting {
		t.changed(sem, shard.FlagData|shard.FlagOwners|shard.FlagDeleted)
	}
	if len(sem.links) == 0 {
		t.removeSemaphore(sem)
		return
	}
	sem.deleting = true
	t.keepPending(pending{sem: sem})
}

// unlink removes a link, which is a unit of work.
func (t *Twin) unlink(sem *semaphore, l *link) {
	sem.remove(l)
	t.left--
}

// removeSemaphore removes a semaphore without links, which is a unit of work.
func (t *Twin) removeSemaphore(sem *semaphore) {
	delete(t.semaphores, sem.place)
	t.unpend(pending{sem: sem})
	t.left--
}

// waiterWithdraw ends the wait of a waiter, if it still matches the command.
func (t *Twin) waiterWithdraw(c *shard.Command) {
	sem := t.semaphores[place{c.Node, string(c.Name)}]
	if sem != nil && !sem.deleting {
		l := sem.linkOf(c.Session)
		if l != nil && !l.owner && l.order == c.Order && l.number == c.Number && !t.hasEnded(t.sessions[c.Session]) {
			t.timeOut(sem, l)
		}
	}
	t.answer(shard.Effect{})
}

// timeOut ends the wait of a waiter.
func (t *Twin) timeOut(sem *semaphore, l *link) {
	wasHead := sem.head() == l
	t.unlink(sem, l)
	if t.mistake == CountsTimedOutWaiters {
		t.phantom[sem.node] += 144 + uint64(len(l.data))
	}
	t.sessions[l.session].updateAnswer(l, shard.AnswerState{Status: protocol.StatusSuccess})
	t.emit(sem.about(l, shard.EffectTimedOut))
	t.afterRemoval(sem, l.owner, wasHead)
}
