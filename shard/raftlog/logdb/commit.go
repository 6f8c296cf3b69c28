package logdb

import (
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// LastEntry is the last entry of a replica in the store. Without entries it is the last entry in the snapshot.
type LastEntry struct {
	wal.Key
	Term, Index uint64
}

// CommitAll makes all entries of every replica committed, and returns the last entry of each replica. No majority has
// agreed to the entries at the end, so hosts of the cluster must not use the store any more. CommitAll must not be
// called while the engine uses the store.
func (db *DB) CommitAll() (list []LastEntry, err error) {
	for _, r := range db.Replicas() {
		last := LastEntry{Key: r.Key, Index: r.Last}
		if r.Last < r.First {
			last.Index = r.Snapshot
		}
		if last.Term, err = db.existing(r.Shard, r.Replica).commitTo(last.Index); err != nil {
			return nil, err
		}
		list = append(list, last)
	}
	return list, nil
}

// commitTo makes the entries up to an index committed, and returns the term of the entry at the index.
func (r *replica) commitTo(index uint64) (term uint64, err error) {
	term = r.snapshot.Term
	if index > r.snapshot.Index {
		entries, _, err := r.iterate(nil, 0, index, index+1, 1)
		if err != nil || len(entries) == 0 {
			return 0, err
		}
		term = entries[0].Term
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.state
	if state.Commit = max(state.Commit, index); state == r.logged {
		return term, nil
	}
	return term, r.db.sync(r.append(change{state: state}))
}
