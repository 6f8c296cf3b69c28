package lease

import (
	"sync"
	"time"

	"github.com/signalbox/signalbox/shard"
)

// Table is the books of one data shard at one host. While the host does not lead the shard it is empty
// and judges nothing. All methods may be called from any goroutine; DESIGN.md says which must come
// before which.
//
// Locks are taken in this order: a table's, then a holder's. A machine's read lock may be held when a
// table is called (as in a walk over its sessions), never the other way round.
type Table struct {
	grace      func(shard.NodeID) time.Duration
	stallAfter time.Duration
	halt       func(error)
	fresh      *Freshness // locks itself

	mu        sync.Mutex // guards all that follows, and the debts and lists of holders while they change
	term      uint64     // the highest this host has led under
	leading   bool       // between Lead and Unlead
	deposed   bool       // a later leader's command was seen; only Unlead is to come
	restoring bool       // not all sessions are known yet
	floor     instant    // since when this leader could hear clients
	detector  *StallDetector
	sessions  sessionStore
	groups    map[*Holder]*group
	timers    heap[*session, timerOrder] // the detached, and the doubtful
	watched   heap[*group, groupOrder]   // every group
	scratch   []*session

	attached, expiring int
	expired, stalls    uint64
}

// NewTable returns the table of a shard that this host does not lead.
func NewTable(c Config) (*Table, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if c.StallAfter == 0 {
		c.StallAfter = DefaultStallAfter
	}
	t := &Table{grace: c.Grace, stallAfter: c.StallAfter, halt: c.Halt, fresh: NewFreshness()}
	t.clear()
	return t, nil
}

// Lead begins the books of a new leader. It is called once this host's own lead command of that term
// was applied here, with a time read after that, and after Unlead if the host led before. Until
// Restored is called the sessions are not all known.
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

// Restore adds a session that this leader did not see begin: from the machine's sessions after Lead,
// and whenever one is created by a batch that this host did not propose. It counts as detached since
// now, and gets the grace period of its node on top of its timeout. What is known already stays.
//
// Call it within the machine's walk over its sessions, so that the end of a session that was walked
// over is not reported before it.
func (t *Table) Restore(id shard.SessionID, node shard.NodeID, timeout time.Duration, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.judges() || t.sessions.byID[id] != nil {
		return
	}
	s := t.sessions.add(id)
	s.node, s.millis = node, millisOf(timeout)
	// Not before now: by DESIGN.md the grace that holds now bounds only what other leaders say from now
	// on; what they said before was said before now.
	s.since = max(t.floor.plus(t.grace(node)), instantOf(now))
	t.setDetached(s, s.deadline())
}

// Restored says that every session was added that the machine had when Lead was called. From here on
// what is not known is over.
func (t *Table) Restored() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.restoring = false
}

// Lost is a holder and the sessions it has lost.
type Lost struct {
	Holder   *Holder
	Sessions []shard.SessionID
}

// Seen says that the machine applied the lead command of some term. It is called where that is
// applied, before anything that comes after it in the log: a session that begins under a later leader
// must not be attached here, as that leader gives it no grace for it. From a later term on the table
// judges nothing more, until Unlead and Lead.
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

// Unlead ends the books: this host leads no more. Every client in the result must be notified, and each
// holder Reported as many losses as it has sessions there. What is due or expiring is the next leader's
// business.
func (t *Table) Unlead() []Lost {
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.leading {
		return nil
	}
	t.leading, t.restoring = false, false
	t.fresh.Forget()
	lost := make([]Lost, 0, len(t.groups))
	for h, g := range t.groups {
		lost = append(lost, Lost{Holder: h, Sessions: g.ids()})
		h.debt.Add(int64(len(g.sessions.items)))
		h.removeTable(t)
	}
	t.clear()
	return lost
}

func (t *Table) clear() {
	t.sessions = newSessionStore()
	t.groups = make(map[*Holder]*group)
	t.timers, t.watched, t.scratch = heap[*session, timerOrder]{}, heap[*group, groupOrder]{}, nil
	t.attached, t.expiring = 0, 0
}

// stalled puts every deadline off by what a stall took from its session: clients may have spoken all that time
// without being heard. No session gets more than that, so what is dead stays no longer than DESIGN.md says, however
// often this host stalls.
func (t *Table) stalled(from, now instant) {
	t.stalls++
	missed := missed(time.Duration(now - from))
	until := from.plus(missed)
	for s := range t.sessions.all() {
		heard := s.since
		if s.group != nil {
			heard = max(heard, s.group.holder.lastHeard())
		}
		s.since = max(heard, min(heard.plus(missed), until))
	}
}

// Counts is what a table holds, for metrics.
type Counts struct {
	Attached, Detached, Expiring, Holders int

	// Expired is how many sessions ended whose expiry this host had proposed; Stalls how often it was
	// standing still. Both only grow.
	Expired, Stalls uint64
}

// Counts returns what the table holds.
func (t *Table) Counts() Counts {
	t.mu.Lock()
	defer t.mu.Unlock()
	return Counts{
		Attached: t.attached, Detached: len(t.sessions.byID) - t.attached - t.expiring,
		Expiring: t.expiring, Holders: len(t.groups),
		Expired: t.expired, Stalls: t.stalls,
	}
}

// Begin says that a read barrier of the shard is about to be asked for, at a time read before that. The
// round counts only while this host leads under the term that it leads under now.
func (t *Table) Begin(now time.Time) Round {
	t.mu.Lock()
	defer t.mu.Unlock()
	r := t.fresh.Begin(now)
	r.term = t.term
	return r
}

// Succeeded says that the barrier of that round succeeded. seen is the highest term of a lead command
// that the shard's machine on this host had applied by then. A log answers barriers of hosts that do
// not lead any more just as well; but then the next leader's lead command, if it came before the
// barrier, has been applied here, and the round does not count.
func (t *Table) Succeeded(r Round, seen uint64) bool {
	return r.term != 0 && seen == r.term && t.fresh.Succeeded(r)
}

// Fresh reports whether this host may vouch for what clients said until now: answer a ping, serve a
// RELAXED read.
func (t *Table) Fresh(now time.Time) bool { return t.fresh.Fresh(now) }

// Rely sets the smallest grace period that other leaders of the shard may give any of its sessions: see
// Freshness.Rely.
func (t *Table) Rely(grace time.Duration) { t.fresh.Rely(grace) }
