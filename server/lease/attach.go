package lease

import (
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Start reports the committed creation of a session for the client at the holder. Start is called in log order when
// the creation is applied. Closed means that the client has disconnected meanwhile: the session is recorded as
// detached, and unless its client learned the id, no client will ever attach the session.
//
// If the client must not have the session yet, Start has no holder, and so records the session as detached. Join
// attaches the session later.
//
// If the walk over the machine's sessions came first, the session may already be known, and may even be Expiring, or
// attached by a client that guessed the id: OutOfSequence.
func (t *Table) Start(id shard.SessionID, node shard.NodeID, timeout time.Duration, h *Holder, seq uint64,
	now time.Time) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.judges() {
		return NotLeading
	}
	s := t.sessions.find(id)
	if s == nil {
		s = t.sessions.add(id)
		s.node, s.millis, s.since = node, millisOf(timeout), longAgo
		return t.start(s, h, seq, now)
	}
	return t.join(s, h, seq, now)
}

// Join attaches a session after a Start without a holder. The result is Unknown if the session has ended, or has left
// with its slot.
func (t *Table) Join(id shard.SessionID, h *Holder, seq uint64, now time.Time) Verdict {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	switch {
	case !t.judges():
		return NotLeading
	case s == nil:
		return Unknown
	}
	return t.join(s, h, seq, now)
}

// join attaches a known session to the client that created it.
func (t *Table) join(s *session, h *Holder, seq uint64, now time.Time) Verdict {
	switch s.state {
	case expiring, doubtful:
		return Expiring
	case attached:
		return OutOfSequence
	}
	t.unplace(s)
	return t.start(s, h, seq, now)
}

// start attaches a session without a place to the client that created it.
func (t *Table) start(s *session, h *Holder, seq uint64, now time.Time) Verdict {
	s.seq, s.since, s.left = seq, max(s.since, instantOf(now)), 0
	g := t.groupOf(h)
	if g == nil {
		t.setDetached(s, s.deadline())
		return Closed
	}
	t.attach(s, g)
	return Attached
}

// Attach attaches a known session over the holder, after its key was checked. If the session was attached over
// another holder, that holder has lost the session and must be notified. Every verdict except Attached means that
// nothing has changed.
//
// Before a STRICT attach, the caller must make a barrier that begins after the request was read.
func (t *Table) Attach(id shard.SessionID, h *Holder, seq uint64, now time.Time) (lost *Holder, v Verdict) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	switch {
	case !t.judges():
		return nil, NotLeading
	case s == nil && t.restoring:
		return nil, Restoring
	case s == nil:
		return nil, Unknown
	case seq < s.seq:
		return nil, OutOfSequence
	case s.state == expiring || s.state == doubtful:
		return nil, Expiring
	case !t.fresh.Fresh(now):
		return nil, NotFresh
	}
	g := t.groupOf(h)
	if g == nil {
		return nil, Closed
	}
	s.seq, s.since, s.left = seq, max(s.since, instantOf(now)), 0
	if t.group(s) == g {
		return nil, Attached
	}
	lost = t.lose(s) // the old holder may have received frames after now
	t.attach(s, g)
	return lost, Attached
}

// SetTimeout reports the committed change of a session timeout. SetTimeout is called before the change is answered,
// and counts as a sign of life from the client.
func (t *Table) SetTimeout(id shard.SessionID, timeout time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	if s == nil {
		return
	}
	s.millis, s.since, s.left = millisOf(timeout), max(s.since, instantOf(now)), 0
	switch s.state {
	case attached:
		g := t.group(s)
		g.sessions.Fix(int(s.place))
		t.watch(g, s)
	case detached:
		s.at = s.deadline()
		t.timers.Fix(int(s.place))
	}
}

// Remove reports that a session has ended, for any reason. If the session was attached, Remove returns its holder,
// and the client must be notified; the answer to a client's own request to end the session is sufficient.
func (t *Table) Remove(id shard.SessionID) (lost *Holder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.remove(id)
}

// RemoveExpired is Remove after a proposal on the given basis was applied and found the session over already.
func (t *Table) RemoveExpired(by Basis, id shard.SessionID) (lost *Holder) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.concerns(by, id) {
		return nil
	}
	return t.remove(id)
}

func (t *Table) remove(id shard.SessionID) (lost *Holder) {
	s := t.sessions.find(id)
	if s == nil {
		return nil
	}
	lost = t.lose(s)
	if s.state == expiring || s.state == doubtful {
		t.expiring--
		t.expired++
	}
	t.sessions.drop(s)
	return lost
}

// Withdraw detaches a session from a holder that may no longer have it. Withdraw returns false if the session was not
// attached over the holder; otherwise the caller must notify the client.
func (t *Table) Withdraw(id shard.SessionID, h *Holder) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	if s == nil || s.state != attached || t.group(s).holder != h {
		return false
	}
	t.lose(s)
	t.setDetached(s, s.deadline())
	return true
}

// Detach detaches a session from its holder, because the client requested it in a request that was read before now.
// If left is above zero and below the timeout, the session stays alive only for the time left. Detach returns false
// if the session is not attached over the holder. The client need not be notified: after its request it counts no
// pong for the session.
func (t *Table) Detach(id shard.SessionID, h *Holder, left time.Duration, now time.Time) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	if s == nil || s.state != attached || t.group(s).holder != h {
		return false
	}
	g := t.unplace(s)
	s.since, s.left = max(s.since, instantOf(now), h.lastHeard()), millisOf(left)
	t.dissolveIfEmpty(g)
	t.setDetached(s, s.deadline())
	return true
}

// detachAll detaches the sessions of a holder whose connection has closed.
func (t *Table) detachAll(h *Holder, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	g := t.groups.of[h]
	if g == nil {
		return
	}
	gone := max(instantOf(now), h.lastHeard())
	for _, at := range g.sessions.Items {
		s := t.sessions.record(at)
		s.group, s.since = 0, max(s.since, gone)
		t.setDetached(s, s.deadline())
	}
	t.attached -= len(g.sessions.Items)
	g.sessions.Items = nil
	t.dissolveIfEmpty(g)
}

// setDetached adds a session without a place to the timers, as detached.
func (t *Table) setDetached(s *session, at instant) {
	t.become(s, detached)
	s.at = at
	t.timers.Push(s.handle)
}

// Verdict is the result of an attach.
type Verdict uint8

const (
	// Attached: the session is attached over the holder, and the client may get a positive answer.
	Attached Verdict = 1
	// NotLeading: the host does not lead the shard. The answer should name the leader.
	NotLeading Verdict = 2
	// Restoring: the host has just begun to lead and does not know all sessions yet. The caller should retry soon.
	Restoring Verdict = 3
	// Unknown: no session with the id exists, so the session is over.
	Unknown Verdict = 4
	// OutOfSequence: a later attach for the session came before this attach. Nothing changed.
	OutOfSequence Verdict = 5
	// Expiring: the session timeout has passed and the session's end is proposed. The end is not certain: the caller
	// or client should retry when the outcome is known.
	Expiring Verdict = 6
	// NotFresh: the host cannot vouch for anything now. The caller should make a barrier, then retry.
	NotFresh Verdict = 7
	// Closed: the holder's connection has closed meanwhile. No client waits for an answer.
	Closed Verdict = 8
)

var verdictNames = [...]string{
	Attached: "attached", NotLeading: "not-leading", Restoring: "restoring", Unknown: "unknown",
	OutOfSequence: "out-of-sequence", Expiring: "expiring", NotFresh: "not-fresh", Closed: "closed",
}

// String returns the verdict for logs and tests.
func (v Verdict) String() string {
	if v == 0 || int(v) >= len(verdictNames) {
		return "verdict-invalid"
	}
	return verdictNames[v]
}

// Late reports whether an attach with a higher sequence came first. If so, an attach with this sequence would be
// refused.
func (t *Table) Late(id shard.SessionID, seq uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	return s != nil && seq < s.seq
}

// Holder returns the holder over which the session is attached, or nil if the session is not attached.
func (t *Table) Holder(id shard.SessionID) *Holder {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	if s == nil || s.group == 0 {
		return nil
	}
	return t.group(s).holder
}

// Attached returns the attached sessions.
func (t *Table) Attached() (list []shard.SessionID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, g := range t.groups.of {
		list = append(list, g.ids()...)
	}
	return list
}

// Detached reports whether the session is known to be detached, and for how long.
func (t *Table) Detached(id shard.SessionID, now time.Time) (since time.Duration, detached bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := t.sessions.find(id)
	if s == nil || s.group != 0 || !t.judges() {
		return 0, false
	}
	return max(time.Duration(instantOf(now)-s.since), 0), true
}
