package lease

import (
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Expiry is a session whose timeout has passed.
type Expiry struct {
	Session shard.SessionID
	// Holder is the silent holder that has lost the session; nil if the session was detached. The holder must be
	// notified, at the latest before Dropped is called.
	Holder *Holder
}

// Due appends up to limit sessions whose timeout has passed, and returns the table's basis. The expiry command must
// carry this basis, even if the host believes itself to be in a later term, or has applied a later change to its
// slots, when it proposes the command. The sessions are then expiring: neither due again nor attachable until Remove,
// Dropped or Undecided reports the outcome. After a full result, or if Next returns zero, there may be more sessions.
//
// Due must be called at least as often as Next requires: calls further apart than the stall limit count as a stall,
// and extend all sessions by the stall's duration.
func (t *Table) Due(now time.Time, limit int, dst []Expiry) (_ []Expiry, by Basis) {
	t.mu.Lock()
	defer t.mu.Unlock()
	by = Basis{t.term, t.changes}
	if !t.judges() {
		return dst, by
	}
	at := instantOf(now)
	if from, stalled := t.detector.tick(at); stalled {
		t.stalled(from, at)
	}
	limit += len(dst)
	for looks := 0; len(dst) < limit && looks < maxChecks; looks++ {
		switch {
		case len(t.timers.Items) > 0 && t.soonest().at <= at:
			dst = t.checkSession(t.soonest(), at, dst)
		case len(t.watched.Items) > 0 && t.watched.First().at <= at:
			dst = t.checkHolder(t.watched.First(), at, limit, dst)
		default:
			return dst, by
		}
	}
	return dst, by
}

// soonest returns the session with the earliest timer. At least one timer must exist.
func (t *Table) soonest() *session { return t.sessions.record(t.timers.First()) }

// checkSession checks a session whose timer fires.
func (t *Table) checkSession(s *session, now instant, dst []Expiry) []Expiry {
	if at := s.deadline(); s.state == detached && at > now {
		s.at = at
		t.timers.Fix(int(s.place))
		return dst
	}
	t.unplace(s)
	return t.expire(s, nil, dst)
}

// checkHolder checks a holder that may have been silent for too long.
func (t *Table) checkHolder(g *group, now instant, limit int, dst []Expiry) []Expiry {
	h := g.holder
	heard, since, until := h.silence(now)
	due, next := g.silent(since, until, limit-len(dst), t.scratch[:0])
	if until < now && next <= now && len(due) == 0 {
		next = now.plus(readerCheck)
	}
	for _, s := range due {
		// First add the debt, then check the last time the holder was heard. MayPong uses the opposite order, so
		// either MayPong sees the debt or this check sees the burst.
		h.debt.Add(1)
		if h.lastHeard() != heard {
			h.debt.Add(-1)
			next = now // heard at this very instant: check the holder once more
			break
		}
		s.since = max(s.since, since)
		t.unplace(s)
		dst = t.expire(s, h, dst)
	}
	clear(due)
	t.scratch = due[:0]
	g.at = next
	t.watched.Fix(g.place)
	t.dissolveIfEmpty(g)
	return dst
}

// expire marks a session that has left its place.
func (t *Table) expire(s *session, from *Holder, dst []Expiry) []Expiry {
	if s.state != doubtful {
		t.expiring++
	}
	t.become(s, expiring)
	return append(dst, Expiry{Session: s.id, Holder: from})
}

// Dropped reports that a proposal to expire the sessions, made on the given basis, certainly has no effect: it will
// never be applied, or was applied under another change count. The sessions are due again after a while, and attachable
// meanwhile, unless an earlier proposal for the session is undecided.
func (t *Table) Dropped(by Basis, ids []shard.SessionID, now time.Time) {
	t.unexpire(by, ids, now, false)
}

// Undecided reports that a proposal to expire the sessions, made on the given basis, has an unknown outcome. A
// session must not be attached and then expire because of that proposal. So the sessions stay expiring while this
// leader leads, and are due again after a while, until a proposal is applied. The next leader's lead command, and the
// arrival of the session's slot, invalidate older proposals.
func (t *Table) Undecided(by Basis, ids []shard.SessionID, now time.Time) {
	t.unexpire(by, ids, now, true)
}

func (t *Table) unexpire(by Basis, ids []shard.SessionID, now time.Time, doubt bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.judges() {
		return
	}
	again := instantOf(now).plus(RetryAfter)
	for _, id := range ids {
		s := t.sessions.find(id)
		if s == nil || s.state != expiring || !t.concerns(by, id) {
			continue
		}
		s.doubt = s.doubt || doubt
		if s.doubt {
			t.become(s, doubtful)
			s.at = again
			t.timers.Push(s.handle)
			continue
		}
		t.expiring--
		t.setDetached(s, max(again, s.deadline()))
	}
}

// Next returns how long the next call of Due can wait.
func (t *Table) Next(now time.Time) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	wait := t.stallAfter / 4 // often enough never to count as a stall
	if !t.judges() {
		return wait
	}
	at := instantOf(now)
	if len(t.timers.Items) > 0 {
		wait = min(wait, time.Duration(t.soonest().at-at))
	}
	if len(t.watched.Items) > 0 {
		if next := t.watched.First().at; next != never {
			wait = min(wait, time.Duration(next-at))
		}
	}
	return max(wait, 0)
}
