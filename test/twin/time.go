package twin

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/shard"
)

// advance moves the time of the shard to when the batch was proposed.
func (t *Twin) advance() {
	if t.stamp.Term != t.term && t.mistake != CountsLateStamps {
		return
	}
	at := t.base + t.stamp.Elapsed
	if at > t.now || t.mistake == TimeGoesBack && t.stamp.Term != 0 {
		t.now = at
	}
}

// refusedByStamp refuses a command of a batch that the leader of the term has not proposed.
func (t *Twin) refusedByStamp(c *shard.Command) bool {
	late := t.stamp.Term != t.term && t.mistake != ObeysLateLeaders
	if late {
		t.answer(shard.Effect{Status: protocol.StatusUnavailable})
		return true
	}
	return false
}

// lead makes the commands of earlier terms void, and counts the time from what it is.
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
	t.answer(shard.Effect{})
}

// due does what is due by the time of the shard. Semaphores wait for none.
func (t *Twin) due(c *shard.Command) {
	if c.Term != t.term {
		t.answer(shard.Effect{Status: protocol.StatusStale})
		return
	}
	t.answer(shard.Effect{})
}
