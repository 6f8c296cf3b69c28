package history

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Recovery is a data shard that had lost its majority for good and was made anew, of all that had been acknowledged.
type Recovery struct {
	// From is before the order, To when the new group had a leader. The state was renewed at a moment between.
	From Time `json:"from"`
	To   Time `json:"to"`
	// First and Last are the slots of the shard, Node and NodeID the node of all semaphores.
	First  shard.Slot   `json:"first"`
	Last   shard.Slot   `json:"last"`
	Node   string       `json:"node"`
	NodeID shard.NodeID `json:"node_id"`
}

// has reports whether a slot is of the shard.
func (r *Recovery) has(slot shard.Slot) bool { return r.First <= slot && slot <= r.Last }

// hasSemaphore reports whether a semaphore is in the shard.
func (r *Recovery) hasSemaphore(s Semaphore) bool {
	return s.Node == r.Node && r.has(shard.SlotOf(r.NodeID, []byte(s.Name)))
}

// lostHome reports whether a session ended because its home was made anew: no client can attach it any more.
func (h *History) lostHome(s *Session) bool {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.has(shard.SessionID(s.ID).Slot()) && s.From < r.To && s.To > r.From {
			return true
		}
	}
	return false
}

// isUndecided reports whether other shards may not know at a time that a session is over: lost hosts may have known
// the session's beginning for sure, and no other host.
func (h *History) isUndecided(id uint64, at Time) bool {
	return slices.ContainsFunc(h.Sessions, func(s Session) bool { return s.ID == id && s.To <= at && h.lostHome(&s) })
}

// renewed reports whether the shard of a semaphore was made anew at some moment between two.
func (h *History) renewed(s Semaphore, from, to Time) bool {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.hasSemaphore(s) && r.From < to && r.To > from {
			return true
		}
	}
	return false
}

// renewedAfter returns the first moment between two in which the shard of an object may have been made anew, or the
// last moment. Leaderships of instances end with the recovery of the shard.
func (h *History) renewedAfter(of Semaphore, first, last Time) Time {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.hasSemaphore(of) && r.To > first {
			last = min(last, max(r.From, first))
		}
	}
	return last
}

// renewals are the steps in which all that owned a semaphore or waited for it lost that, with its shard.
func (h *History) renewals(s Semaphore) (steps []step) {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.hasSemaphore(s) {
			steps = append(steps, step{kind: stepRenew, from: r.From, to: r.To})
		}
	}
	return steps
}

// lookTime is how long a new group grants nothing, besides twice the grace, so that clients can ask it what is left.
const lookTime = 5 * time.Second

// unanswered returns the time in which a client may believe in a part of a shard that was made anew, since faults of
// the client kept the new group from answering while the group granted nothing. A session whose home was made
// anew as well has no such time: the group waits for the timeouts of those sessions.
func (h *History) unanswered(x *Hold) (from, until Time) {
	for i := range h.Recoveries {
		r := &h.Recoveries[i]
		if !r.hasSemaphore(x.Semaphore) || x.From >= r.To {
			continue
		}
		at := slices.IndexFunc(h.Sessions, func(s Session) bool { return s.ID == x.Session })
		if at < 0 || h.lostHome(&h.Sessions[at]) {
			continue
		}
		for _, f := range h.Faults {
			if f.Client == h.Sessions[at].Client && f.From < r.To+2*h.Grace+lookTime && f.To > r.From {
				from, until = max(r.From, x.From), max(until, f.To+recoveryTime)
			}
		}
		if until > from {
			return from, until
		}
	}
	return Never, Never
}
