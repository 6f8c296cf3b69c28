package history

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Recovery is a data shard that permanently lost its majority and was rebuilt with every acknowledged change.
type Recovery struct {
	// From is before the order, To when the new group had a leader. The state was renewed at a moment between.
	From Time `json:"from"`
	To   Time `json:"to"`
	// Slots are the shard's slots, Node and NodeID the node of all semaphores.
	Slots  shard.SlotSet `json:"slots"`
	Node   string        `json:"node"`
	NodeID shard.NodeID  `json:"node_id"`
}

// has reports whether the shard contains a slot.
func (r *Recovery) has(slot shard.Slot) bool { return r.Slots.Has(slot) }

// hasSemaphore reports whether a semaphore is in the shard.
func (r *Recovery) hasSemaphore(s Semaphore) bool {
	return s.Node == r.Node && r.has(shard.SlotOf(r.NodeID, []byte(s.Name)))
}

// lostHome reports whether a session ended because its home shard was rebuilt: clients can no longer attach it.
func (h *History) lostHome(s *Session) bool {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.has(shard.SessionID(s.ID).Slot()) && s.From < r.To && s.To > r.From {
			return true
		}
	}
	return false
}

// isUndecided reports whether other shards may not know, at the given time, that a session is over, because possibly
// only lost hosts knew of the session's start.
func (h *History) isUndecided(id uint64, at Time) bool {
	return slices.ContainsFunc(h.Sessions, func(s Session) bool { return s.ID == id && s.To <= at && h.lostHome(&s) })
}

// renewed reports whether the semaphore's shard was rebuilt between two times.
func (h *History) renewed(s Semaphore, from, to Time) bool {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.hasSemaphore(s) && r.From < to && r.To > from {
			return true
		}
	}
	return false
}

// renewedAfter returns the first time between first and last at which the object's shard may have been rebuilt, or
// last. A shard recovery ends the leadership of instances.
func (h *History) renewedAfter(of Semaphore, first, last Time) Time {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.hasSemaphore(of) && r.To > first {
			last = min(last, max(r.From, first))
		}
	}
	return last
}

// renewals are the steps at which a rebuilt shard dropped the semaphore's owners and waiters.
func (h *History) renewals(s Semaphore) (steps []step) {
	for i := range h.Recoveries {
		if r := &h.Recoveries[i]; r.hasSemaphore(s) {
			steps = append(steps, step{kind: stepRenew, from: r.From, to: r.To})
		}
	}
	return steps
}

// lookTime is the time, in addition to twice the grace period, for which a new group grants nothing, so that clients
// can find out what is left.
const lookTime = 5 * time.Second

// unanswered returns the interval in which a client may still believe in a holding of a rebuilt shard: client faults
// kept the new group from answering before the group resumed grants. A session whose home was also rebuilt has no such
// interval: the group waits for the timeout of such sessions.
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
