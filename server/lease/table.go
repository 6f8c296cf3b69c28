package lease

import (
	"cmp"
	"slices"
	"sync"
	"time"

	"github.com/signalbox/signalbox/internal/heap"
	"github.com/signalbox/signalbox/shard"
)

// Table is the records of one data shard at one host. While the host does not lead the shard, the table is empty and
// judges nothing. All goroutines may call all methods; DESIGN.md says in which order.
//
// Locks are taken in this order: a table's, then a holder's. A machine's read lock may be held when a table is called
// (as in a walk over its sessions), never the other way round.
type Table struct {
	grace      func(shard.NodeID) time.Duration
	stallAfter time.Duration
	halt       func(error)
	fresh      *Freshness // locks itself

	mu        sync.Mutex // guards all fields below, and the debts and lists of holders while they change
	term      uint64     // the highest term that this host has led under
	leading   bool       // between Lead and Unlead
	deposed   bool       // a later leader's command was seen; only Unlead is to come
	restoring bool       // not all sessions are known yet
	floor     instant    // since when this leader could hear clients
	detector  *StallDetector
	sessions  sessionStore
	groups    groups
	timers    heap.Heap[handle, timerOrder] // the detached and the doubtful sessions
	watched   heap.Heap[*group, groupOrder] // every group
	scratch   []*session

	attached, expiring int
	expired, stalls    uint64
}

// NewTable returns the table of a shard that this host does not lead.
func NewTable(c Config) (*Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	c.StallAfter = cmp.Or(c.StallAfter, DefaultStallAfter)
	t := &Table{grace: c.Grace, stallAfter: c.StallAfter, halt: c.Halt, fresh: NewFreshness()}
	t.clear()
	return t, nil
}

// Lead begins the records of a new leader. It is called once this host's own lead command of the term was applied
// here, with a time read afterwards, and after Unlead if the host led before. Until Restored is called some sessions
// are unknown.
func (t *Table) Lead(term uint64, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.assert(!t.leading && term > t.term, "a host leads a term once, and after the one before is over")
	t.fresh.Forget()
	t.term, t.leading, t.deposed, t.restoring = term, true, false, true
	t.floor = instantOf(now)
	t.detector = NewStallDetector(t.stallAfter)
	t.detector.tick(t.floor)
}

// Reserve makes room for as many sessions as are to be restored, so that a new leader of many serves sooner. It is
// called between Lead and the first Restore.
func (t *Table) Reserve(sessions int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.judges() && len(t.sessions.byID) == 0 {
		t.sessions.reserve(sessions)
		t.timers.Items = slices.Grow(t.timers.Items, sessions)
	}
}

// Restore adds a session that began unseen by this leader: a session of the machine after Lead, or a session created
// by a batch of another proposer. The session counts as detached since now, and gets the grace period of its node on
// top of its timeout. A session that is known already stays as it is.
//
// Restore must be called within the machine's walk over its sessions, so that the end of a session is not reported
// before the session.
func (t *Table) Restore(id shard.SessionID, node shard.NodeID, timeout time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.judges() || t.sessions.find(id) != nil {
		return
	}
	s := t.sessions.add(id)
	s.node, s.millis = node, millisOf(timeout)
	// Not before now. By DESIGN.md the grace that holds now bounds only the promises that other leaders make from now
	// on; earlier promises were made before now.
	s.since = max(t.floor.plus(t.grace(node)), instantOf(now))
	t.setDetached(s, s.deadline())
}

// Restored notes that every session was added that the machine had when Lead was called. From here on an unknown
// session is over.
func (t *Table) Restored() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restoring = false
}

// Lost is a holder and the sessions that the holder has lost.
type Lost struct {
	Holder   *Holder
	Sessions []shard.SessionID
}

// Seen notes that the machine applied the lead command of some term. It is called when the command is applied, before
// anything later in the log: a session that begins under a later leader must not be attached here, because the later
// leader gives the session no grace. From a later term on the table judges nothing more, until Unlead and Lead.
func (t *Table) Seen(term uint64) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.leading && term > t.term {
		t.deposed = true
		t.fresh.Forget()
	}
}

// judges reports whether this host leads, as far as it knows.
func (t *Table) judges() bool { return t.leading && !t.deposed }

// Unlead ends the records: this host leads no more. Every client in the result must be notified, and each holder must
// be Reported as many losses as it has sessions there. Due and expiring sessions are the next leader's business.
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
}

// stalled moves every deadline by the time that a stall took from its session: clients may have spoken all the time
// without being heard. No session gets more, so dead sessions stay no longer than DESIGN.md says, however often this
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

// Counts is the content of a table, for metrics.
type Counts struct {
	Attached, Detached, Expiring, Holders int

	// Expired is how many sessions ended after this host had proposed their expiry; Stalls is how often the host was
	// standing still. Both only grow.
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

// Begin notes that the caller is about to ask for a read barrier of the shard, at a time read before. The round
// counts only while this host leads under its present term.
func (t *Table) Begin(now time.Time) Round {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.fresh.Begin(now)
	r.term = t.term
	return r
}

// Succeeded notes that the barrier of the round succeeded. seen is the highest term of a lead command that the
// shard's machine on this host had applied by then. A log also answers barriers of hosts that lead no more. But if
// the next leader's lead command came before the barrier, the command has been applied here, and the round does not
// count.
func (t *Table) Succeeded(r Round, seen uint64) bool {
	return r.term != 0 && seen == r.term && t.fresh.Succeeded(r)
}

// Fresh reports whether this host may vouch for everything that clients said until now: answer a ping, serve a
// RELAXED read.
func (t *Table) Fresh(now time.Time) bool { return t.fresh.Fresh(now) }

// Rely sets the smallest grace period that other leaders of the shard may give its sessions: see Freshness.Rely.
func (t *Table) Rely(grace time.Duration) { t.fresh.Rely(grace) }
