package memlog

import (
	"fmt"
	"slices"
	"strings"
)

// committedLog is a group's committed entries, whether or not any replica knows that they are committed. No election
// can undo them. Entries compacted by every replica are dropped.
type committedLog struct {
	before  uint64
	entries []*entry
}

func (c *committedLog) last() uint64 { return c.before + uint64(len(c.entries)) }

func (c *committedLog) has(index uint64) bool { return index > c.before && index <= c.last() }

func (c *committedLog) at(index uint64) *entry { return c.entries[index-c.before-1] }

// acceptance is the durable part of a leader's log at a replica in that leader's term, before the replica voted in a
// later term. Entries accepted by a majority are committed: a later leader needs a vote from the majority, and voters
// demand a log of at least their length.
type acceptance struct {
	term  uint64
	index uint64 // entry of the term
}

// recordAcceptance records the synced log of the replica, and extends the committed log accordingly.
func (r *replica) recordAcceptance() {
	g, s := r.group, r.store
	if s.synced == 0 || s.termAt(s.synced) != s.term {
		return // entries of earlier terms are committed only by a later entry of the current term
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

// acceptedIn returns the last index accepted from the leader of a term, or 0.
func (r *replica) acceptedIn(term uint64) uint64 {
	for _, a := range r.accepted {
		if a.term == term {
			return a.index
		}
	}
	return 0
}

// commitUpTo extends the committed log by the entries up to index, from a replica that accepted them. It stops at a
// membership change: later entries need a majority of the new voters.
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

// checkDurable checks that a majority of the voters that committed the last entry has all committed entries on disk.
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

// checkCommitted compares a replica's commit index, from lo to hi, with the committed log.
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

// checkWinner checks that an election winner has every committed entry, and that the term is new.
func (g *Group) checkWinner(r *replica, term uint64) {
	last, s := g.committed.last(), r.store
	if term <= g.term {
		g.violated("host %d wins term %d, and term %d is over", r.host.id, term, g.term)
	}
	if s.last() < last || s.has(last) && g.committed.has(last) && s.at(last) != g.committed.at(last) {
		g.violated("host %d wins term %d without the committed entry %d", r.host.id, term, last)
	}
}

// checkDropped checks that a replica never overwrites a committed entry.
func (g *Group) checkDropped(r *replica, e *entry) {
	if g.committed.has(e.index) && g.committed.at(e.index) == e {
		g.violated("host %d drops the committed entry %d", r.host.id, e.index)
	}
}

// trim drops entries from the committed log after every replica has compacted them.
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
