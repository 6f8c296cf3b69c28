package memlog

import (
	"fmt"
	"slices"
	"strings"
)

// committedLog is the committed entries of a group, which no election can undo, whether or not a replica knows that
// they are committed. Entries that every replica has compacted are left out.
type committedLog struct {
	before  uint64
	entries []*entry
}

func (c *committedLog) last() uint64 { return c.before + uint64(len(c.entries)) }

func (c *committedLog) has(index uint64) bool { return index > c.before && index <= c.last() }

func (c *committedLog) at(index uint64) *entry { return c.entries[index-c.before-1] }

// acceptance is how far a replica had a leader's log durable while it was in that leader's term, and so before it voted
// in a later one. What a majority has accepted is committed: a later leader needs the vote of one of them, which
// demands a log that reaches as far.
type acceptance struct {
	term  uint64
	index uint64 // an entry of that term
}

// recordAcceptance records what the replica has synced, and extends the committed log by what that commits.
func (r *replica) recordAcceptance() {
	g, s := r.group, r.store
	if s.synced == 0 || s.termAt(s.synced) != s.term {
		return // entries of an earlier term are committed by one of the current term after them
	}
	last := g.committed.last()
	r.accepted = slices.DeleteFunc(r.accepted, func(a acceptance) bool { return a.term == s.term || a.index <= last })
	r.accepted = append(r.accepted, acceptance{term: s.term, index: s.synced})
	for {
		index := g.majority(func(r *replica) uint64 { return r.acceptedIn(s.term) })
		if index <= g.committed.last() {
			return
		}
		g.commitUpTo(s.term, index)
	}
}

// acceptedIn returns up to where the replica accepted the log of a term's leader, or 0.
func (r *replica) acceptedIn(term uint64) uint64 {
	for _, a := range r.accepted {
		if a.term == term {
			return a.index
		}
	}
	return 0
}

// commitUpTo extends the committed log by the entries up to index, from a replica that accepted them. It ends with an
// entry that changes the membership: what comes after that is for the voters of then.
func (g *Group) commitUpTo(term, index uint64) {
	var entries []*entry
	for _, r := range g.replicas {
		if r.acceptedIn(term) >= index {
			if !r.store.has(index) || r.store.termAt(index) != term {
				g.violated("host %d has lost entry %d, which it had accepted in term %d and is committed",
					r.host.id, index, term)
			}
			entries = upToChange(r.store.between(g.committed.last(), index))
			break
		}
	}
	last := entries[len(entries)-1]
	g.committed.entries = append(g.committed.entries, entries...)
	g.proof = slices.Collect(g.voters())
	g.net.trace.add(g.net.now, Record{Kind: RecordCommitted, Group: g.id, Term: term, Index: last.index})
	g.checkDurable()
	if last.change != nil {
		g.takeEffect(last)
	}
}

// checkDurable checks that a majority of those that committed the last entry has all that is committed on its disks.
func (g *Group) checkDurable() {
	last := g.committed.last()
	holders := 0
	for _, r := range g.proof {
		s := r.store
		switch {
		case s.before >= last:
			holders++
		case s.synced >= last && (!g.committed.has(last) || s.at(last) == g.committed.at(last)):
			holders++
		}
	}
	if holders < len(g.proof)/2+1 && len(g.proof) > 0 {
		g.violated("entry %d is committed and durable on only %d of %d replicas", last, holders, len(g.proof))
	}
}

// checkCommitted checks what a replica takes for committed, after lo up to hi, against the committed log.
func (g *Group) checkCommitted(r *replica, lo, hi uint64) {
	if hi > g.committed.last() {
		g.violated("host %d takes entry %d for committed, of which only %d are", r.host.id, hi, g.committed.last())
	}
	for _, e := range r.store.between(lo, hi) {
		if g.committed.has(e.index) && g.committed.at(e.index) != e {
			g.violated("host %d has another entry at %d than the one that is committed", r.host.id, e.index)
		}
	}
	g.knownCommitted = max(g.knownCommitted, hi)
}

// checkWinner checks that the winner of an election has every committed entry, and that the term is new.
func (g *Group) checkWinner(r *replica, term uint64) {
	last, s := g.committed.last(), r.store
	if term <= g.term {
		g.violated("host %d wins term %d, and term %d is over", r.host.id, term, g.term)
	}
	if s.last() < last || s.has(last) && g.committed.has(last) && s.at(last) != g.committed.at(last) {
		g.violated("host %d wins term %d without the committed entry %d", r.host.id, term, last)
	}
}

// checkDropped holds a replica that overwrites an entry to this: it is none that is committed.
func (g *Group) checkDropped(r *replica, e *entry) {
	if g.committed.has(e.index) && g.committed.at(e.index) == e {
		g.violated("host %d drops the committed entry %d", r.host.id, e.index)
	}
}

// trim drops from the committed log what every replica has compacted.
func (g *Group) trim() {
	low := g.committed.last()
	for _, r := range g.replicas {
		low = min(low, r.store.before)
	}
	if low > g.committed.before {
		kept := g.committed.entries[low-g.committed.before:]
		g.committed.entries = append([]*entry(nil), kept...)
		g.committed.before = low
	}
}

// violated panics: this package has a bug, or its memory was changed from outside.
func (g *Group) violated(format string, args ...any) {
	var b strings.Builder
	fmt.Fprintf(&b, "memlog: impossible in group %d at %v (seed %d): ", g.id, g.net.now, g.net.cfg.Seed)
	fmt.Fprintf(&b, format, args...)
	b.WriteString("\n" + g.describe() + "last records:\n")
	for _, r := range g.net.trace.recent() {
		b.WriteString(r.String() + "\n")
	}
	panic(b.String())
}
