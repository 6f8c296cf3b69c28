package memlog

import (
	"fmt"
	"slices"
	"strings"
)

// truth is what is committed in a group, whoever knows it: the entries that no election can undo.
// Entries that every replica has compacted are forgotten.
type truth struct {
	before  uint64
	entries []*entry
}

func (t *truth) last() uint64 { return t.before + uint64(len(t.entries)) }

func (t *truth) has(index uint64) bool { return index > t.before && index <= t.last() }

func (t *truth) at(index uint64) *entry { return t.entries[index-t.before-1] }

// acceptance is how far a replica had a leader's log durable while it was in that leader's term, which
// is to say before it voted for a later one. What a majority accepted is committed: a later leader needs
// the vote of one of them, who asks for a log that reaches as far.
type acceptance struct {
	term  uint64
	index uint64 // an entry of that term
}

// accepts takes note of what the replica has synced, and adds to the truth what that commits.
func (r *replica) accepts() {
	g, s := r.group, r.store
	if s.synced == 0 || s.termAt(s.synced) != s.term {
		return // entries of an earlier term are committed by one of the current term after them
	}
	last := g.truth.last()
	r.accepted = slices.DeleteFunc(r.accepted, func(a acceptance) bool { return a.term == s.term || a.index <= last })
	r.accepted = append(r.accepted, acceptance{term: s.term, index: s.synced})
	if index := g.majority(func(r *replica) uint64 { return r.acceptedIn(s.term) }); index > last {
		g.settle(s.term, index)
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

// settle adds to the truth: the entries up to index, of a replica that accepted them.
func (g *Group) settle(term, index uint64) {
	for _, r := range g.replicas {
		if r.acceptedIn(term) >= index {
			if !r.store.has(index) || r.store.termAt(index) != term {
				g.violated("host %d has lost entry %d, which it had accepted in term %d and is committed", r.host.id, index, term)
			}
			g.truth.entries = append(g.truth.entries, r.store.between(g.truth.last(), index)...)
			break
		}
	}
	g.net.trace.add(g.net.now, Record{Kind: RecordCommitted, Group: g.id, Term: term, Index: index})
	g.checkDurable()
}

// checkDurable holds the group to this: a majority has all that is committed on its disks.
func (g *Group) checkDurable() {
	last := g.truth.last()
	if last == 0 {
		return
	}
	holders := 0
	for _, r := range g.replicas {
		s := r.store
		switch {
		case s.before >= last:
			holders++
		case s.synced >= last && (!g.truth.has(last) || s.at(last) == g.truth.at(last)):
			holders++
		}
	}
	if holders < g.quorum() {
		g.violated("entry %d is committed and durable on only %d of %d replicas", last, holders, len(g.replicas))
	}
}

// checkCommitted holds a replica to the truth when it comes to know of commits, after lo up to hi.
func (g *Group) checkCommitted(r *replica, lo, hi uint64) {
	if hi > g.truth.last() {
		g.violated("host %d takes entry %d for committed, of which only %d are", r.host.id, hi, g.truth.last())
	}
	for _, e := range r.store.between(lo, hi) {
		if g.truth.has(e.index) && g.truth.at(e.index) != e {
			g.violated("host %d has another entry at %d than the one that is committed", r.host.id, e.index)
		}
	}
	g.known = max(g.known, hi)
}

// checkWinner holds an election to this: the winner has every committed entry, and the term is new.
func (g *Group) checkWinner(r *replica, term uint64) {
	last, s := g.truth.last(), r.store
	if term <= g.term {
		g.violated("host %d wins term %d, and term %d is over", r.host.id, term, g.term)
	}
	if s.last() < last || s.has(last) && g.truth.has(last) && s.at(last) != g.truth.at(last) {
		g.violated("host %d wins term %d without the committed entry %d", r.host.id, term, last)
	}
}

// forbidLoss holds a replica that overwrites an entry to this: it is none that is committed.
func (g *Group) forbidLoss(r *replica, e *entry) {
	if g.truth.has(e.index) && g.truth.at(e.index) == e {
		g.violated("host %d drops the committed entry %d", r.host.id, e.index)
	}
}

// trim forgets what every replica has compacted.
func (g *Group) trim() {
	low := g.truth.last()
	for _, r := range g.replicas {
		low = min(low, r.store.before)
	}
	if low > g.truth.before {
		kept := g.truth.entries[low-g.truth.before:]
		g.truth.entries = append([]*entry(nil), kept...)
		g.truth.before = low
	}
}

// violated ends the program: the package is wrong, or somebody wrote into it.
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
