package memlog

import "slices"

// entry is one entry of a group's log. Replicas share entries, so equal pointers mean equal entries. Only the proposal
// field changes after creation.
type entry struct {
	index uint64
	term  uint64
	data  []byte
	empty bool // from an election or a change: hidden from state machines

	change   *change   // membership change; nil for other entries
	proposal *proposal // decided by this entry; nil for an empty entry
}

// savedSnapshot is the state after the entry at index, immutable once it has data.
type savedSnapshot struct {
	index uint64
	term  uint64
	data  []byte
}

// store is one replica's disk content, including unsynced writes. It outlives the process.
type store struct {
	term   uint64 // highest known term; always durable
	commit uint64 // known to be committed

	before  uint64 // index and term before the first entry
	atTerm  uint64
	entries []*entry
	synced  uint64 // last durable index

	snapshot *savedSnapshot // nil before the first
}

func newStore() *store { return &store{} }

// last is the last entry's index.
func (s *store) last() uint64 { return s.before + uint64(len(s.entries)) }

// has reports whether the entry at index is held: neither compacted nor beyond the end.
func (s *store) has(index uint64) bool { return index > s.before && index <= s.last() }

// at returns the entry at index, which must be present.
func (s *store) at(index uint64) *entry { return s.entries[index-s.before-1] }

// termAt returns the term at index, which must be present or the last compacted index.
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
	s.entries = s.entries[:k:k] // the next append copies, so earlier slices stay unchanged
	s.synced = min(s.synced, s.last())
	return gone
}

// compact drops the entries up to index, which must be present.
func (s *store) compact(index uint64) {
	s.atTerm = s.termAt(index)
	s.entries = slices.Clone(s.entries[index-s.before:])
	s.before = index
}

// install replaces the log up to the snapshot index, and returns dropped entries that follow a different entry at this
// index.
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

// snapshotIndex is the last snapshot's index, or 0.
func (s *store) snapshotIndex() uint64 {
	if s.snapshot == nil {
		return 0
	}
	return s.snapshot.index
}

// reaches reports whether this log is at least as up to date as o: by last term, then length.
func (s *store) reaches(o *store) bool {
	mine, other := s.termAt(s.last()), o.termAt(o.last())
	return mine > other || mine == other && s.last() >= o.last()
}

// crash leaves the state found by a restarted process. Without a power failure that is every write, durable from then
// on.
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
