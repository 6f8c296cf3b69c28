package lease_test

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

const (
	longGrace  = 8 * second
	shortGrace = 500 * time.Millisecond
	storyLease = 2 * second // session timeout in the stories
)

// TestStories: event sequences that the random model reaches only after thousands of runs. The old and the next leader
// share one clock. With the rule, the session is due only after the lease; with the rule broken it is due earlier,
// which confirms the story.
func TestStories(t *testing.T) {
	for name, tell := range map[string]func(s *story, kept bool){
		"a session of the next leader is not attached by the old one": func(s *story, kept bool) {
			s.leadBoth()
			s.next.Restored()
			s.next.started(1, storyLease, lease.NewHolder(s.next.now))
			// The old leader applies both commands as well.
			if kept {
				s.old.Seen(s.next.term)
			}
			s.old.Restore(id(1), nodeOne, storyLease, s.old.now)
			s.attachAndPing(longGrace - second)
		},
		"bounds of grace hold until all hosts know the change": func(s *story, kept bool) {
			s.attached()
			s.leadBoth()
			// The grace period was lowered. The old leader does not know.
			if !kept {
				s.next.grace = shortGrace
			}
			s.restore(0)
			s.attachAndPing(longGrace - second)
		},
		"a host confirms a grace period after it goes by it": func(s *story, kept bool) {
			s.attached()
			s.leadBoth()
			if kept {
				s.old.Rely(shortGrace)
			}
			s.next.grace = shortGrace // confirmed by all hosts
			s.restore(0)
			s.attachAndPing(longGrace - second)
		},
		"a restored session is not older than its restore": func(s *story, kept bool) {
			s.attached()
			s.leadBoth()
			s.attachAndPing(4 * second)
			// Now the old leader confirms the lower grace period, as the last host.
			s.old.Rely(shortGrace)
			s.next.grace = shortGrace
			if kept {
				s.restore(0)
			} else {
				s.restore(4 * second)
			}
		},
		"a raise is as dangerous as a lowering": func(s *story, kept bool) {
			s.old.Rely(shortGrace)
			s.next.grace = shortGrace // it does not know of the increase
			s.attached()
			if kept {
				s.old.Rely(shortGrace)
			} else {
				s.old.Rely(longGrace)
			}
			s.pass(time.Millisecond)
			s.old.refresh()
			s.leadBoth()
			s.restore(0)
			s.attachAndPing(longGrace - second)
		},
		"a barrier that was begun after the next leader's command does not count": func(s *story, kept bool) {
			s.attached()
			s.leadBoth()
			s.restore(0)
			s.next.grace = longGrace
			s.pass(longGrace - second)
			seen := s.next.term // applied by the old leader's machine when the barrier succeeds
			if !kept {
				seen = s.old.term
			}
			s.old.Succeeded(s.old.Begin(s.old.now), seen, s.old.changes)
			s.attachAndPing(2 * second)
		},
		"a session leaves its table with its slot": func(s *story, kept bool) {
			s.attached()
			if s.seal(kept); kept {
				s.holder.Reported(1)
			}
			s.arrive(true)
			s.attachAndPing(4 * second)
			s.old.refresh()
			s.attachAndPing(longGrace - second)
		},
		"sessions of a slot that has arrived get the grace period": func(s *story, kept bool) {
			s.attached()
			s.pass(second)
			// The old shard's host does not know of the seal, and is fresh.
			s.arrive(kept)
			s.attachAndPing(longGrace - second)
		},
		"an expiry is of the change count of the table that judged": func(s *story, kept bool) {
			s.attached()
			s.pass(storyLease)
			s.old.due(1)
			s.holder.Reported(1)
			s.seal(true)
			s.comeBack()
			s.attachAndPing(second)
			if !kept { // the expiry of before is applied
				s.ended = s.old.now
			}
			s.next = s.old
		},
		"an outcome of an earlier change count is ignored if the slot has arrived since": func(s *story, kept bool) {
			s.attached()
			s.pass(storyLease)
			s.old.due(1)
			s.holder.Reported(1)
			early := s.old.by()
			s.seal(true)
			s.comeBack()
			s.pass(longGrace + storyLease)
			s.old.due(1) // the second expiry is on its way
			if !kept {
				early.Changes = s.old.changes
			}
			s.old.Dropped(early, []shard.SessionID{id(1)}, s.old.now)
			s.old.refresh()
			s.attachAndPing(second)
			s.ended = s.old.now // the second expiry is applied
		},
	} {
		t.Run(name, func(t *testing.T) {
			for _, kept := range []bool{true, false} {
				s := newStory(t)
				tell(s, kept)
				end, due := s.lease.Sub(start), s.due().Sub(start)
				if end > due == kept {
					t.Errorf("with the rule kept %v: the lease ends at %v, the session is due at %v", kept, end, due)
				}
			}
		})
	}
}

type story struct {
	old, next *stage
	holder    *lease.Holder // at the old leader
	lease     time.Time     // end of the client's lease
	ended     time.Time     // when an expiry took effect
}

func newStory(t *testing.T) *story {
	s := &story{old: emptyStage(t, time.Hour), next: emptyStage(t, time.Hour), holder: lease.NewHolder(start),
		lease: start}
	s.old.grace, s.next.grace = longGrace, longGrace
	s.old.Rely(longGrace)
	s.old.lead()
	s.old.Restored()
	s.old.refresh()
	return s
}

func (s *story) pass(d time.Duration) {
	s.old.pass(d)
	s.next.now = s.old.now
}

// attached has the session begin at the old leader.
func (s *story) attached() { s.old.started(1, storyLease, s.holder) }

// leadBoth makes the next leader begin, while the old one is unaware.
func (s *story) leadBoth() {
	s.next.term = s.old.term
	s.next.lead()
}

// restore makes the next leader restore the session, with a timestamp of the given age.
func (s *story) restore(age time.Duration) {
	s.next.Restore(id(1), nodeOne, storyLease, s.next.now.Add(-age))
	s.next.Restored()
}

// seal takes the session's slot out of the old shard, whose table hears of it or not.
func (s *story) seal(heard bool) {
	s.old.changes++
	if heard {
		s.old.SlotLeft(slotOne, s.old.changes)
	} else {
		s.old.SlotsChanged(s.old.changes)
	}
}

// arrive brings the slot to the next shard, whose leader has led for long.
func (s *story) arrive(heard bool) {
	now := s.next.now
	s.next.now = start.Add(-30 * time.Minute)
	s.next.lead()
	s.next.Restored()
	s.next.now = now
	s.next.changes++
	if heard {
		s.next.SlotArrived(slotOne, s.next.changes, now)
	} else {
		s.next.SlotsChanged(s.next.changes)
	}
	s.next.Restore(id(1), nodeOne, storyLease, now)
}

// comeBack brings the slot back to the old shard.
func (s *story) comeBack() {
	s.old.arrives(storyLease, 1)
	s.old.refresh()
}

// attachAndPing makes the client attach through the old leader and ping it for the given time.
func (s *story) attachAndPing(length time.Duration) {
	const step = 100 * time.Millisecond
	for range length / step {
		if _, v := s.old.Attach(id(1), s.holder, 0, s.old.now); v == lease.Attached && s.holder.MayPong(s.old.now) {
			s.lease = s.old.now.Add(storyLease * 9 / 10)
		}
		s.pass(step)
	}
}

// due returns when the session is due at the next leader, looking from the very beginning on.
func (s *story) due() time.Time {
	if !s.ended.IsZero() {
		return s.ended
	}
	for at := start; at.Before(start.Add(time.Minute)); at = at.Add(10 * time.Millisecond) {
		if due, _ := s.next.Due(at, 1, nil); len(due) > 0 {
			return at
		}
	}
	s.next.t.Fatal("the session is never due")
	return time.Time{}
}
