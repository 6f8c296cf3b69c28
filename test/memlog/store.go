package memlog

import "slices"

// entry is one entry of a group's log. Replicas share entries, so two replicas have the same entry if they have the
// same pointer. Only the field proposal changes after the entry was made.
type entry struct {
	index uint64
	term  uint64
	data  []byte
	empty bool // appended by an election, or a change: no state machine sees it

	change   *change   // of the membership; nil for every other entry
	proposal *proposal // whose outcome it decides; nil for an empty entry
}

// savedSnapshot is the state after the entry at index. It is never changed once it has its data.
type savedSnapshot struct {
	index uint64
	term  uint64
	data  []byte
}

// store is what one replica has on its disk, and what it has written but not synced. It outlives the process.
type store struct {
	term   uint64 // the highest that the replica knows of; always durable
	commit uint64 // known to be committed

	before  uint64 // the index before the first entry held, and the term there
	atTerm  uint64
	entries []*entry
	synced  uint64 // the index up to which all is durable

	snapshot *savedSnapshot // nil before the first
}

func newStore() *store { return &store{} }

// last is the index of the last entry.
func (s *store) last() uint64 { return s.before + uint64(len(s.entries)) }

// has reports whether the entry at index is held: neither compacted nor beyond the end.
func (s *store) has(index uint64) bool { return index > s.before && index <= s.last() }

// at returns the entry at index, which must be held.
func (s *store) at(index uint64) *entry { return s.entries[index-s.before-1] }

// termAt returns the term of the entry at index, which must be held or the last compacted one.
func (s *store) termAt(index uint64) uint64 {
	if index == s.before {
		return s.atTerm
	}
	return s.at(index).term
}

// from returns at most limit entries beginning at index. The slice never changes.
func (s *store) from(index uint64, limit int) []*entry {
	rest := s.entries[index-s.before-1:]
	k := min(len(rest), limit)
	return rest[:k:k]
}

// between returns the entries after lo up to hi.
func (s *store) between(lo, hi uint64) []*entry {
	return s.from(lo+1, int(hi-lo))
}

func (s *store) append(e *entry) { s.entries = append(s.entries, e) }

// truncate drops the entries from index on and returns them.
func (s *store) truncate(index uint64) []*entry {
	k := int(index - s.before - 1)
	gone := s.entries[k:]
	s.entries = s.entries[:k:k] // the next append copies, so slices that were handed out do not change
	s.synced = min(s.synced, s.last())
	return gone
}

// compact drops the entries up to index, which must be held.
func (s *store) compact(index uint64) {
	s.atTerm = s.termAt(index)
	s.entries = slices.Clone(s.entries[index-s.before:])
	s.before = index
}

// install replaces the log up to the snapshot's index by the snapshot, and returns the entries that it drops because
// they follow another entry at that index.
func (s *store) install(snap *savedSnapshot) (gone []*entry) {
	s.snapshot = snap
	s.commit = max(s.commit, snap.index)
	if s.has(snap.index) && s.termAt(snap.index) == snap.term {
		s.compact(snap.index)
		s.synced = max(s.synced, snap.index)
		return nil
	}
	if s.last() > snap.index {
		gone = s.entries[snap.index-s.before:]
	}
	s.entries, s.before, s.atTerm, s.synced = nil, snap.index, snap.term, snap.index
	return gone
}

// snapshotIndex is the index of the last snapshot, or 0.
func (s *store) snapshotIndex() uint64 {
	if s.snapshot == nil {
		return 0
	}
	return s.snapshot.index
}

// reaches reports whether this log is at least as far as the other: by its last term, then its length.
func (s *store) reaches(o *store) bool {
	mine, other := s.termAt(s.last()), o.termAt(o.last())
	return mine > other || mine == other && s.last() >= o.last()
}

// crash leaves what a restarted process finds. Without a loss of power that is all that was written, which counts as
// durable from then on.
func (s *store) crash(loseUnsynced bool) {
	if !loseUnsynced {
		s.synced = s.last()
		return
	}
	if s.last() > s.synced {
		s.truncate(s.synced + 1)
	}
	s.commit = s.snapshotIndex() // how far the log is committed is not synced by itself
}
