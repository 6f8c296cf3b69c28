package lease

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/shard"
)

// Table contains one data shard's records on one host. While the host does not lead the shard, the table is empty and
// judges nothing. Safe for concurrent use; DESIGN.md defines the required call order.
//
// Lock order: a table's lock, then a holder's. A machine's read lock may be held when a table is called (as in a walk
// over its sessions), but not the other way round.
type Table struct {
	grace      func(shard.NodeID) time.Duration
	stallAfter time.Duration
	halt       func(error)
	fresh      *Freshness // locks itself

	mu        sync.Mutex           // guards all fields below, and changes to holders' debts and lists
	term      uint64               // highest term in which the host has led
	leading   bool                 // between Lead and Unlead
	deposed   bool                 // a later leader's command was seen; only Unlead may follow
	restoring bool                 // not all sessions are known yet
	floor     instant              // since when this leader could hear the clients of all its sessions
	changes   uint64               // highest change count of the shard's slots that was reported
	arrivals  *[shard.Slots]uint64 // per slot, the change count at the last arrival in this term; nil before the first
	detector  *StallDetector
	sessions  sessionStore
	groups    groups
	timers    heap.Heap[handle, timerOrder] // detached and doubtful sessions
	watched   heap.Heap[*group, groupOrder] // all groups
	scratch   []*session

	attached, expiring int
	expired, stalls    uint64
}

// NewTable returns the table for a shard the host does not lead.
func NewTable(c Config) (*Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.StallAfter = cmp.Or(c.StallAfter, DefaultStallAfter)
	t := &Table{grace: c.Grace, stallAfter: c.StallAfter, halt: c.Halt, fresh: NewFreshness(), floor: longAgo}
	t.clear()
	return t, nil
}

// Lead begins a new leader's records. Call it after the local host's own lead command for the term was applied here,
// and after Unlead if the host led before. The machine's change count is read after the command was applied, and the
// time after that. Until Restored is called, some sessions are unknown.
func (t *Table) Lead(term, changes uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.assert(!t.leading && term > t.term, "a host leads a term once, and after the one before is over")
	t.fresh.Forget()
	t.term, t.leading, t.deposed, t.restoring = term, true, false, true
	t.changes = max(t.changes, changes)
	t.floor = max(t.floor, instantOf(now)) // a slot may have arrived after now was read
	t.detector = NewStallDetector(t.stallAfter)
	t.detector.tick(instantOf(now))
}

// Reserve allocates capacity for the sessions to be restored, so that a new leader with many sessions serves sooner.
// Call it between Lead and the first Restore.
func (t *Table) Reserve(sessions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.judges() && len(t.sessions.byID) == 0 {
		t.sessions.reserve(sessions)
		t.timers.Items = slices.Grow(t.timers.Items, sessions)
	}
}

// Restore adds a session whose start this leader did not see: a session in the machine after Lead or in a slot that has
// arrived, or one created by another proposer's batch. The session counts as detached since now, and gets its node's
// grace period in addition to its timeout. A session that is already known is left unchanged.
//
// Restore must be called where the command is applied, or within the machine's walk over its sessions, so that neither
// a session's end nor a slot's leaving is reported before the session.
func (t *Table) Restore(id shard.SessionID, node shard.NodeID, timeout time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.judges() || t.sessions.find(id) != nil {
		return
	}
	s := t.sessions.add(id)
	s.node, s.millis = node, millisOf(timeout)
	// Not before now. By DESIGN.md, the current grace period only limits the promises that other leaders make from
	// now on; earlier promises were made before now.
	s.since = max(t.floor.plus(t.grace(node)), instantOf(now))
	t.setDetached(s, s.deadline())
}

// Restored records that every session which the machine had when Lead was called has been added. From here on, an
// unknown session is over.
func (t *Table) Restored() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restoring = false
}

// Lost is a holder with the sessions that it has lost.
type Lost struct {
	Holder   *Holder
	Sessions []shard.SessionID
}

// Seen records that the machine applied a lead command with the given term. Seen must be called when the command is
// applied, before anything later in the log: a session that begins under a later leader must not be attached here,
// because the later leader gives the session no grace period. After a later term was seen, the table judges nothing
// until Unlead and Lead.
func (t *Table) Seen(term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leading && term > t.term {
		t.deposed = true
		t.fresh.Forget()
	}
}

// judges reports whether the host leads, as far as it knows.
func (t *Table) judges() bool { return t.leading && !t.deposed }

// Unlead ends the records: the host no longer leads. Every client in the result must be notified, and Reported must
// be called on every holder for all its sessions there. The next leader handles due and expiring sessions.
func (t *Table) Unlead() []Lost {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leading {
		return nil
	}
	t.leading, t.restoring = false, false
	t.fresh.Forget()
	lost := make([]Lost, 0, len(t.groups.of))
	for h, g := range t.groups.of {
		lost = append(lost, Lost{Holder: h, Sessions: g.ids()})
		h.debt.Add(int64(len(g.sessions.Items)))
		h.removeTable(t)
	}
	t.clear()
	return lost
}

func (t *Table) clear() {
	t.sessions = newSessionStore()
	t.groups = newGroups()
	t.timers = heap.Heap[handle, timerOrder]{By: timerOrder{&t.sessions}}
	t.watched, t.scratch = heap.Heap[*group, groupOrder]{}, nil
	t.attached, t.expiring = 0, 0
	t.arrivals = nil
}

// stalled moves every session's deadline by the time a stall took from the session: clients may have sent frames that
// were not read. No session gets more, so dead sessions remain no longer than DESIGN.md states, however often the
// host stalls.
func (t *Table) stalled(from, now instant) {
	t.stalls++
	missed := missed(time.Duration(now - from))
	until := from.plus(missed)
	for s := range t.sessions.all() {
		heard := s.since
		if g := t.group(s); g != nil {
			heard = max(heard, g.holder.lastHeard())
		}
		s.since = max(heard, min(heard.plus(missed), until))
	}
}

// Counts is the table's content, for metrics.
type Counts struct {
	Attached, Detached, Expiring, Holders int

	// Expired counts sessions that ended after the host had proposed their expiry. Stalls counts the host's stalls.
	// Neither ever decreases.
	Expired, Stalls uint64
}

// Counts returns the content of the table.
func (t *Table) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Counts{
		Attached: t.attached, Detached: len(t.sessions.byID) - t.attached - t.expiring,
		Expiring: t.expiring, Holders: len(t.groups.of),
		Expired: t.expired, Stalls: t.stalls,
	}
}

// Begin records that the caller is about to request a read barrier on the shard, at a time read before. The round
// counts only while the host leads in its current term.
func (t *Table) Begin(now time.Time) Round {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.fresh.Begin(now)
	r.term = t.term
	return r
}

// Succeeded records that the round's barrier succeeded. term is the highest term of a lead command the host's machine
// had applied by then, and changes the machine's change count. A log also answers barriers on hosts no longer lead. But
// if the next leader's lead command preceded the barrier, the command has been applied here, and the round does not
// count. The round does not count either if the machine has applied a change that was not reported to the table.
func (t *Table) Succeeded(r Round, term, changes uint64) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return r.term != 0 && term == r.term && changes <= t.changes && t.fresh.Succeeded(r)
}

// Fresh reports whether the host may vouch for everything clients sent until now: answer a ping, serve a RELAXED
// read.
func (t *Table) Fresh(now time.Time) bool { return t.fresh.Fresh(now) }

// Rely sets the smallest grace period that other leaders of the shard may give its sessions: see Freshness.Rely.
func (t *Table) Rely(grace time.Duration) { t.fresh.Rely(grace) }
