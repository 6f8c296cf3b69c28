package twin

import (
	"slices"

	"github.com/signalbox/signalbox/shard"
)

// pending is unfinished work: an ended session, a deleted semaphore, or a semaphore with waiters that fit.
type pending struct {
	session *session
	sem     *semaphore
}

func (t *Twin) isPending(p pending) bool { return slices.Contains(t.pending, p) }

// keepPending adds the remaining work for a session or a semaphore to the list.
func (t *Twin) keepPending(p pending) {
	if !t.isPending(p) {
		t.pending = append(t.pending, p)
	}
}

func (t *Twin) unpend(gone pending) {
	var left []pending
	for _, p := range t.pending {
		if p != gone {
			left = append(left, p)
		}
	}
	t.pending = left
}

// continueWork does pending work in list order. Unfinished work moves to the end of the list.
func (t *Twin) continueWork() {
	for len(t.pending) > 0 && t.left > 0 {
		p := t.pending[0]
		t.unpend(p)
		switch {
		case p.session != nil:
			t.releaseAll(p.session)
		case p.sem.deleting:
			t.destroy(p.sem)
		default:
			if t.runQueue(p.sem) {
				t.changedOwners(p.sem)
			}
		}
	}
	t.answerMore(len(t.pending) > 0)
}

func (t *Twin) answerMore(more bool) {
	if more {
		t.answer(shard.Effect{Flags: shard.FlagMore})
		return
	}
	t.answer(shard.Effect{})
}

func (t *Twin) pendingState() []shard.PendingState {
	var list []shard.PendingState
	for _, p := range t.pending {
		if p.session != nil {
			list = append(list, shard.PendingState{Session: p.session.id})
		} else {
			list = append(list, shard.PendingState{Node: p.sem.node, Name: p.sem.name, Deleting: p.sem.deleting})
		}
	}
	return list
}

// hasEnded reports whether the session has ended, with links still to be released.
func (t *Twin) hasEnded(s *session) bool { return t.isPending(pending{session: s}) }

// linksOf returns how many semaphores the session owns or waits for.
func (t *Twin) linksOf(id shard.SessionID) int {
	n := 0
	for _, sem := range t.semaphores {
		if sem.linkOf(id) != nil {
			n++
		}
	}
	return n
}
