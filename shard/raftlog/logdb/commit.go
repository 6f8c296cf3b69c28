package logdb

import (
	"fmt"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// LastEntry is the last entry of a replica in the store. Without entries it is the last entry in the snapshot.
type LastEntry struct {
	wal.Key
	Term, Index uint64
}

// LastEntry returns the last entry of a replica, with zeros where the store has nothing of the replica. The engine may
// use the store meanwhile; the entry may not be durable yet.
func (db *DB) LastEntry(shardID, replicaID uint64) (LastEntry, error) {
	r := db.existing(shardID, replicaID)
	if r == nil {
		return LastEntry{Key: wal.Key{Shard: shardID, Replica: replicaID}}, nil
	}
	return r.lastEntry()
}

func (r *replica) lastEntry() (last LastEntry, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	last = LastEntry{Key: r.key, Term: r.snapshot.Term, Index: r.last.Load()}
	if last.Index == r.snapshot.Index {
		return last, nil
	}
	found, ok := r.entries.at(last.Index)
	if !ok {
		return last, errForm
	}
	entries, err := r.load(found)
	if err == nil {
		last.Term = entries[last.Index-entries[0].Index].Term
	}
	return last, err
}

// CommitAll makes all entries of every replica committed, and returns the last entry of each replica. No majority has
// agreed to the entries at the end, so hosts of the cluster must not use the store any more. CommitAll must not be
// called while the engine uses the store.
func (db *DB) CommitAll() (list []LastEntry, err error) {
	for _, report := range db.Replicas() {
		r := db.existing(report.Shard, report.Replica)
		last, err := r.lastEntry()
		if err == nil {
			err = r.commitTo(last.Index)
		}
		if err != nil {
			return nil, err
		}
		list = append(list, last)
	}
	return list, nil
}

// commitTo makes the entries up to an index committed.
func (r *replica) commitTo(index uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.state
	if state.Commit = max(state.Commit, index); state == r.logged {
		return nil
	}
	return r.db.sync(r.append(change{state: state}))
}

// copyBytes is about how many bytes of entries CopyCommitted has in memory.
const copyBytes = 4 << 20

// CopyCommitted copies a replica into an empty store, where all entries of the replica are committed, and returns the
// last entry. The path of the snapshot stays as it is. The store that is copied from is not changed. The engine may use
// the store for other replicas meanwhile, but not for the replica.
func (db *DB) CopyCommitted(shardID, replicaID uint64, to *DB) (last LastEntry, err error) {
	fail := func(err error) (LastEntry, error) {
		return last, fmt.Errorf("logdb: copy replica %d of shard %d: %w", replicaID, shardID, err)
	}
	if last, err = db.LastEntry(shardID, replicaID); err != nil {
		return fail(err)
	}
	bootstrap, err := db.GetBootstrapInfo(shardID, replicaID)
	if err == nil {
		err = to.SaveBootstrapInfo(shardID, replicaID, bootstrap)
	}
	if err != nil {
		return fail(err)
	}
	u := pb.Update{ShardID: shardID, ReplicaID: replicaID}
	if u.Snapshot, err = db.GetSnapshot(shardID, replicaID); err != nil {
		return fail(err)
	}
	next := u.Snapshot.Index + 1
	state, err := db.ReadRaftState(shardID, replicaID, u.Snapshot.Index)
	if err != nil {
		return fail(err)
	}
	u.State = state.State
	u.State.Commit = last.Index
	for {
		if err := to.SaveRaftState([]pb.Update{u}, 0); err != nil {
			return fail(err)
		}
		if next > last.Index {
			return last, nil
		}
		u.Snapshot = pb.Snapshot{}
		u.EntriesToSave, _, err = db.IterateEntries(nil, 0, shardID, replicaID, next, last.Index+1, copyBytes)
		if err == nil && len(u.EntriesToSave) == 0 {
			err = errForm
		}
		if err != nil {
			return fail(err)
		}
		next += uint64(len(u.EntriesToSave))
	}
}
