package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// advance advances the shard time to the batch's proposal.
func (t *Twin) advance() {
	if t.stamp.Term != t.term && t.mistake != CountsLateStamps {
		return
	}
	at := t.base + t.stamp.Elapsed
	if at > t.now || t.mistake == TimeGoesBack && t.stamp.Term != 0 {
		t.now = at
	}
}

// refusedByStamp refuses a command in a batch that was not proposed by the term's leader.
func (t *Twin) refusedByStamp(c *shard.Command) bool {
	late := t.stamp.Term != t.term && t.mistake != ObeysLateLeaders
	if late {
		t.answer(shard.Effect{Status: protocol.StatusUnavailable})
		return true
	}
	return false
}

// lead voids commands of earlier terms, and counts the time from its current value.
func (t *Twin) lead(c *shard.Command) {
	if c.Term < t.term {
		t.answer(shard.Effect{Status: protocol.StatusStale})
		return
	}
	begins := c.Term > t.term || t.mistake == RebasesTwice
	if begins && t.mistake != ForgetsBase {
		t.base = t.now
	}
	t.term = c.Term
	for _, sem := range t.semaphores {
		for _, l := range sem.links {
			if l.deadline != 0 && t.mistake == WaitsAnew {
				l.deadline = t.now + l.timeout + 1
			}
		}
	}
	t.answer(shard.Effect{})
}

// due ends overdue waits by shard time: earliest first, then by order id.
func (t *Twin) due(c *shard.Command) {
	if c.Term != t.term {
		t.answer(shard.Effect{Status: protocol.StatusStale})
		return
	}
	for {
		of, first := t.firstOver()
		if first == nil || t.left <= 0 {
			t.answerMore(first != nil)
			return
		}
		t.left--
		if first.deadline = 0; !of.deleting {
			t.timeOut(of, first)
		}
	}
}

// firstOver returns the waiter with the longest overdue wait, or nil.
func (t *Twin) firstOver() (of *semaphore, first *link) {
	for _, sem := range t.semaphores {
		for _, l := range sem.links {
			if l.deadline != 0 && l.deadline <= t.now && (first == nil || l.deadline < first.deadline ||
				l.deadline == first.deadline && l.order < first.order) {
				of, first = sem, l
			}
		}
	}
	return of, first
}
