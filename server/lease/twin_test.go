package lease_test

import (
	"slices"
	"time"

	"github.com/signalbox/signalbox/server/lease"
	"github.com/signalbox/signalbox/shard"
)

// The naive twin records all of a session's events, and recomputes the deadline from all events on each call, without
// timers, groups or lower bounds.

const twinStall = 20 * second

// sign is the time of a session's activity.
type sign struct {
	at    time.Time
	grace time.Duration // extension because of a leader change
}

type twinSession struct {
	node       shard.NodeID
	timeout    time.Duration
	left       time.Duration // 0: as much as the timeout
	seq        uint64
	signs      []sign
	holder     *twinHolder // nil: detached
	expiring   bool
	pending    bool // the session's end is proposed
	doubt      bool
	retryAfter time.Time
}

type twinHolder struct {
	real   *lease.Holder
	heard  []time.Time
	debt   int
	closed bool
}

type twinRound struct {
	real     lease.Round
	begun    time.Time
	term     uint64
	windows  []time.Duration // windows in force since the session's start
	spoiled  bool            // spoiled by a window or leader change before success
	counting bool
}

type twin struct {
	term      uint64
	leading   bool
	deposed   bool // by a later leader, but Unlead was not called yet
	restoring bool
	floor     time.Time
	changes   uint64
	lastDue   time.Time
	grace     map[shard.NodeID]time.Duration
	window    time.Duration
	sessions  map[shard.SessionID]*twinSession
	rounds    []*twinRound
	counts    lease.Counts // Expired and Stalls only
}

func newTwin() *twin {
	return &twin{
		grace:    map[shard.NodeID]time.Duration{},
		sessions: map[shard.SessionID]*twinSession{},
	}
}

func (tw *twin) lead(now time.Time) {
	tw.term, tw.leading, tw.deposed, tw.restoring, tw.lastDue = tw.term+1, true, false, true, now
	tw.floor = later(tw.floor, now)
	tw.forgetRounds()
}

// slotArrived gives a slot's sessions, if they are known already, the grace period. Earlier proposals do not concern
// the new records.
func (tw *twin) slotArrived(slot shard.Slot, now time.Time) {
	tw.changes++
	tw.floor = later(tw.floor, now)
	for id, s := range tw.sessions {
		if id.Slot() == slot && tw.leading {
			n := *s
			n.signs = append(slices.Clone(n.signs), sign{tw.floor, tw.grace[n.node]})
			if n.expiring {
				n.expiring, n.pending, n.doubt, n.retryAfter = false, false, false, time.Time{}
			}
			tw.sessions[id] = &n
		}
	}
}

// forgetSlot forgets a slot's sessions, and returns those that their holders have lost.
func (tw *twin) forgetSlot(slot shard.Slot) map[*lease.Holder][]shard.SessionID {
	tw.changes++
	lost := map[*lease.Holder][]shard.SessionID{}
	for id, s := range tw.sessions {
		if id.Slot() != slot {
			continue
		}
		if h := s.holder; h != nil {
			h.debt++
			lost[h.real] = append(lost[h.real], id)
		}
		delete(tw.sessions, id)
	}
	return lost
}

func (tw *twin) unlead() {
	for _, s := range tw.sessions {
		if s.holder != nil {
			s.holder.debt++
		}
	}
	clear(tw.sessions)
	tw.leading, tw.restoring = false, false
	tw.forgetRounds()
}

func (tw *twin) seen(term uint64) {
	if tw.leading && term > tw.term {
		tw.deposed = true
		tw.forgetRounds()
	}
}

func (tw *twin) judges() bool { return tw.leading && !tw.deposed }

func (tw *twin) forgetRounds() {
	for _, r := range tw.rounds {
		r.spoiled, r.counting = true, false
	}
}

func (tw *twin) rely(grace time.Duration) {
	window := grace - grace/64
	if window == tw.window {
		return
	}
	tw.window = window
	for _, r := range tw.rounds {
		r.windows = append(r.windows, window)
		r.spoiled = true
	}
}

func (tw *twin) succeeded(r *twinRound, seen, changes uint64) bool {
	if r.spoiled || r.term == 0 || seen != r.term || changes > tw.changes {
		return false
	}
	r.counting = true
	return true
}

func (tw *twin) fresh(now time.Time) bool {
	return slices.ContainsFunc(tw.rounds, func(r *twinRound) bool {
		return r.counting && now.Before(r.begun.Add(slices.Min(r.windows)))
	})
}

// stalled extends every session by its lost share of the given interval, and by another quarter.
func (tw *twin) stalled(from, now time.Time) {
	tw.counts.Stalls++
	missed := now.Sub(from)
	missed += min(missed/4, 5*second)
	for _, s := range tw.sessions {
		switch base := s.base(); {
		case !base.After(from):
			s.signs = append(s.signs, sign{base.Add(missed), 0})
		default:
			s.signs = append(s.signs, sign{from.Add(missed), 0})
		}
	}
}

// base returns when the session counts as heard.
func (s *twinSession) base() (base time.Time) {
	for _, x := range s.signs {
		base = later(base, x.at.Add(x.grace))
	}
	if s.holder != nil {
		base = later(base, s.holder.lastHeard())
	}
	return base
}

// deadline returns when the session is due; the zero time for never.
func (s *twinSession) deadline() time.Time {
	if s.expiring {
		if s.pending {
			return time.Time{}
		}
		return s.retryAfter
	}
	if s.holder != nil && s.timeout == 0 {
		return time.Time{}
	}
	lasts := s.timeout
	if s.holder == nil && s.left != 0 {
		lasts = min(lasts, s.left)
	}
	return later(s.base().Add(lasts), s.retryAfter)
}

func (h *twinHolder) lastHeard() time.Time { return h.heard[len(h.heard)-1] }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// due returns the due sessions, after checking for a stall.
func (tw *twin) due(now time.Time) map[shard.SessionID]bool {
	if !tw.judges() {
		return nil
	}
	if now.Sub(tw.lastDue) > twinStall {
		tw.stalled(tw.lastDue, now)
	}
	tw.lastDue = now
	due := map[shard.SessionID]bool{}
	for id, s := range tw.sessions {
		if at := s.deadline(); !at.IsZero() && !at.After(now) {
			due[id] = true
		}
	}
	return due
}

// expire marks a session that the table has called due, and returns the expected holder.
func (tw *twin) expire(id shard.SessionID) (from *lease.Holder) {
	s := tw.sessions[id]
	if h := s.holder; h != nil {
		s.signs = append(s.signs, sign{h.lastHeard(), 0})
		s.holder = nil
		h.debt++
		from = h.real
	}
	s.expiring, s.pending = true, true
	return from
}

func (tw *twin) attach(id shard.SessionID, h *twinHolder, seq uint64, now time.Time) (lost *lease.Holder,
	v lease.Verdict) {
	s := tw.sessions[id]
	switch {
	case !tw.judges():
		return nil, lease.NotLeading
	case s == nil && tw.restoring:
		return nil, lease.Restoring
	case s == nil:
		return nil, lease.Unknown
	case seq < s.seq:
		return nil, lease.OutOfSequence
	case s.expiring:
		return nil, lease.Expiring
	case !tw.fresh(now):
		return nil, lease.NotFresh
	case h.closed:
		return nil, lease.Closed
	}
	if s.holder != nil && s.holder != h {
		s.holder.debt++
		s.signs = append(s.signs, sign{s.holder.lastHeard(), 0})
		lost = s.holder.real
	}
	s.holder, s.seq, s.retryAfter, s.left = h, seq, time.Time{}, 0
	s.signs = append(s.signs, sign{now, 0})
	return lost, lease.Attached
}

func (tw *twin) detach(id shard.SessionID, h *twinHolder, left time.Duration, now time.Time) bool {
	s := tw.sessions[id]
	if s == nil || s.holder != h {
		return false
	}
	s.holder, s.left = nil, left
	s.signs = append(s.signs, sign{now, 0}, sign{h.lastHeard(), 0})
	return true
}

func (tw *twin) close(h *twinHolder, now time.Time) {
	for _, s := range tw.sessions {
		if s.holder == h {
			s.holder = nil
			s.signs = append(s.signs, sign{now, 0}, sign{h.lastHeard(), 0})
		}
	}
}

func (tw *twin) remove(id shard.SessionID) (lost *lease.Holder) {
	s := tw.sessions[id]
	if s == nil {
		return nil
	}
	if s.holder != nil {
		s.holder.debt++
		lost = s.holder.real
	}
	if s.expiring {
		tw.counts.Expired++
	}
	delete(tw.sessions, id)
	return lost
}

func (tw *twin) unexpire(s *twinSession, now time.Time, doubt bool) {
	if !s.pending {
		return
	}
	s.pending = false
	s.doubt = s.doubt || doubt
	s.expiring = s.doubt
	s.retryAfter = now.Add(lease.RetryAfter)
}

func (tw *twin) count() lease.Counts {
	c := tw.counts
	holders := map[*twinHolder]bool{}
	for _, s := range tw.sessions {
		switch {
		case s.expiring:
			c.Expiring++
		case s.holder != nil:
			c.Attached++
			holders[s.holder] = true
		default:
			c.Detached++
		}
	}
	c.Holders = len(holders)
	return c
}
