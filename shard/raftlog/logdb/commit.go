package logdb

import (
	"fmt"

	pb "github.com/lni/dragonboat/v4/raftpb"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// LastEntry is a replica's last entry in the store. Without entries it is the snapshot's last entry.
type LastEntry struct {
	wal.Key
	Term, Index uint64
}

// LastEntry returns a replica's last entry, with zeros if the store has nothing for the replica. The engine may use the
// store meanwhile; the entry may not be durable yet.
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

// CommitAll marks all entries in every replica as committed, and returns each replica's last entry. The last entries
// may lack a majority's agreement, so the cluster's hosts must not use the store any more. CommitAll must not be called
// while the engine uses the store.
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

// commitTo marks the entries up to an index as committed.
func (r *replica) commitTo(index uint64) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	state := r.state
	if state.Commit = max(state.Commit, index); state == r.logged {
		return nil
	}
	return r.db.sync(r.append(change{state: state}))
}

// copyBytes is approximately how many entry bytes CopyCommitted has in memory.
const copyBytes = 4 << 20

// CopyCommitted copies a replica into an empty store, with all its entries committed, and returns the last entry. The
// snapshot path stays unchanged. The source store is not changed. The engine may use the store for other replicas
// meanwhile, but not for this replica.
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
