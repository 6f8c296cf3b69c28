package replica

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/meta"
)

// timeouts are the session timeouts the host may grant as a home shard's leader. A rebuilt shard grants nothing as
// long as a client may still believe in an earlier session. So the leader starts and attaches a session with a
// timeout above shard.UnnotedTimeout only after its term has recorded a bound in the meta shard. The leader lowers
// the bound only if no session in the home shard exceeds the new bound. Section 7 in package lease's DESIGN.md has
// the argument.
type timeouts struct {
	r     *Replica
	bound atomic.Uint64 // maximum timeout that may be granted, in milliseconds; set under the lock

	mu   sync.Mutex // guards the fields below
	term uint64     // 0: the host does not lead
	// highest has the longest timeout among the home shard's sessions, or a longer one from an ended session. since has
	// the longest timeout among the sessions that arrived after the latest scan of all sessions began.
	highest, since shard.Longest
	waiting        []grant
	proposed       hosts.TimeoutBound // the term's last bound
	proposedAt     time.Time          // when it was last proposed to the meta shard
	lookedAt       time.Time
}

// grant is a timeout that waits for a bound.
type grant struct {
	timeout uint64
	until   time.Time
	done    func(granted bool)
}

const (
	// lookEvery is the interval at which a leader looks for the longest timeout among its sessions while a bound is
	// recorded.
	lookEvery = 10 * time.Second
	// lowerAfter is the minimum lifetime of a bound.
	lowerAfter = time.Minute
	// grantWithin is how long a timeout waits for a bound. The meta shard may be electing a leader.
	grantWithin = 2500 * time.Millisecond
	// proposeAgain is the time after which an unrecorded bound is proposed again.
	proposeAgain = 200 * time.Millisecond
)

func (t *timeouts) init(r *Replica) {
	t.r = r
	t.bound.Store(shard.UnnotedTimeout)
}

// Grants reports whether the host, as the home shard's leader, may start or attach a session with a timeout in
// milliseconds.
func (r *Replica) Grants(timeout uint64) bool { return timeout <= r.timeouts.bound.Load() }

// OnceGranted calls done when the host may start or attach a session with a timeout, possibly at once, when the meta
// shard has not answered in time, or when the host no longer leads. OnceGranted returns false, without calling done,
// if the host does not lead, or too many wait.
func (r *Replica) OnceGranted(timeout uint64, done func(granted bool)) bool {
	t := &r.timeouts
	t.mu.Lock()
	switch {
	case t.term == 0 || len(t.waiting) == maxAwaiting:
		t.mu.Unlock()
		return false
	case !r.Grants(timeout):
		t.waiting = append(t.waiting, grant{timeout, r.set.Now().Add(grantWithin), done})
		t.mu.Unlock()
		r.set.Wake()
		return true
	}
	t.mu.Unlock()
	done(true)
	return true
}

// begin is called when the host begins to lead in a term or, with term 0, no longer leads.
func (t *timeouts) begin(term uint64) {
	t.mu.Lock()
	t.bound.Store(shard.UnnotedTimeout)
	refused := t.waiting
	t.term, t.waiting = term, nil
	t.highest, t.since, t.proposed = shard.Longest{}, shard.Longest{}, hosts.TimeoutBound{}
	t.proposedAt, t.lookedAt = time.Time{}, time.Time{}
	t.mu.Unlock()
	for _, g := range refused {
		g.done(false)
	}
}

// applied records a session that was started or changed, before any answer about it.
func (t *timeouts) applied(timeout uint64, id shard.SessionID) {
	if timeout <= shard.UnnotedTimeout {
		return
	}
	l := shard.Longest{Timeout: timeout, Session: id}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.highest, t.since = t.highest.Over(l), t.since.Over(l)
}

// found records the session with the longest timeout among those that the leader found at the beginning of its term.
// Sessions that arrived meanwhile are already known.
func (t *timeouts) found(term uint64, l shard.Longest, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.term == term {
		t.highest, t.lookedAt = t.highest.Over(l), now
	}
}

// check records the bound that sessions and waiting grants need. Called on a serving leader's loop.
func (t *timeouts) check(term uint64, now time.Time) {
	on := t.r.set.Meta.Machine.ShardRecord(hosts.ShardID(t.r.ID))
	if on == nil { // without records no shard is rebuilt, and only timeouts that need no bound are granted
		on = &hosts.Shard{}
	}
	looked := t.look(on, now)
	t.mu.Lock()
	if t.term != term {
		t.mu.Unlock()
		return
	}
	recorded := on.Bound.Term == term && on.Bound.Number == t.proposed.Number
	if recorded {
		t.bound.Store(max(t.proposed.Longest.Timeout, shard.UnnotedTimeout))
	}
	ended := t.takeEnded(now)
	propose := t.next(on, recorded, looked, now)
	bound := t.proposed
	t.mu.Unlock()
	for _, g := range ended {
		g.done(t.r.Grants(g.timeout))
	}
	if s := t.r.set; propose {
		s.Meta.request(meta.NewCommand(
			&meta.ShardBound{Shard: hosts.ShardID(t.r.ID), Host: s.config.Self.ID, Bound: bound},
			s.Origin("host "+s.config.Self.Name, "the longest session timeout")))
	}
}

// look finds the sessions' longest timeout, if a bound is recorded and the latest scan was a while ago.
func (t *timeouts) look(on *hosts.Shard, now time.Time) bool {
	t.mu.Lock()
	due := on.Bound.Longest.Timeout > shard.UnnotedTimeout && now.Sub(t.lookedAt) >= lookEvery
	if due {
		t.since, t.lookedAt = shard.Longest{}, now
	}
	t.mu.Unlock()
	if !due {
		return false
	}
	l := t.r.Machine.Longest()
	t.mu.Lock()
	defer t.mu.Unlock()
	t.highest = l.Over(t.since)
	return true
}

// takeEnded takes the grants no longer wait.
func (t *timeouts) takeEnded(now time.Time) (ended []grant) {
	t.waiting = slices.DeleteFunc(t.waiting, func(g grant) bool {
		is := t.r.Grants(g.timeout) || !now.Before(g.until)
		if is {
			ended = append(ended, g)
		}
		return is
	})
	return ended
}

// needed returns what the bound must cover: the home shard's sessions, the waiting grants and, during the rebuild
// wait, the sessions from before the rebuild.
func (t *timeouts) needed() (l shard.Longest) {
	l = t.highest
	for _, g := range t.waiting {
		if g.timeout > l.Timeout {
			l = shard.Longest{Timeout: g.timeout}
		}
	}
	if g := t.r.Machine.Group(); g.Waits(t.r.Machine.Time()) {
		l = l.Over(g.Longest)
	}
	if l.Timeout <= shard.UnnotedTimeout {
		return shard.Longest{}
	}
	return l
}

// next returns whether a bound should be proposed now: a higher one immediately, a lower one rarely.
func (t *timeouts) next(on *hosts.Shard, recorded, looked bool, now time.Time) bool {
	l, waited := t.needed(), now.Sub(t.proposedAt)
	lower := l.Timeout < on.Bound.Longest.Timeout
	switch {
	case l.Timeout > t.proposed.Longest.Timeout:
	case t.proposed.Number > 0 && !recorded:
		if waited < proposeAgain {
			return false
		}
		t.proposedAt = now
		return true
	case !looked || l == on.Bound.Longest || lower && waited < lowerAfter:
		return false
	}
	t.proposed = hosts.TimeoutBound{Term: t.term, Number: t.proposed.Number + 1, Longest: l}
	t.proposedAt = now
	t.bound.Store(min(t.bound.Load(), max(l.Timeout, shard.UnnotedTimeout))) // lower now, raise when recorded
	return true
}
