package logdb

import (
	"path/filepath"
	"slices"

	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// Report is what Inspect has found in the log of a host.
type Report struct {
	wal.Report
	// Replicas are those that the log has, by shard. There are none where the log is damaged.
	Replicas []ReplicaReport
}

// ReplicaReport is what the log has of a replica.
type ReplicaReport struct {
	wal.Key
	Term, Vote, Commit uint64
	// First and Last are the entries that follow one another after the snapshot; none where Last is less than First.
	First, Last uint64
	// Snapshot is the last entry of the newest snapshot, 0 where there is none, and SnapshotFile its file when it was
	// saved.
	Snapshot     uint64
	SnapshotFile string
}

// Position is how far a replica is: its term, and its last entry or the last that its snapshot has.
type Position struct {
	wal.Key
	Term, Last uint64
}

// Positions returns how far each replica is, in no order. What it returns was appended and may not be durable yet.
func (db *DB) Positions() (list []Position) {
	for _, r := range db.all() {
		list = append(list, r.position())
	}
	return list
}

// Last returns the last entry of a replica. It waits for nothing.
func (db *DB) Last(shardID, replicaID uint64) uint64 {
	if r := db.existing(shardID, replicaID); r != nil {
		return r.last.Load()
	}
	return 0
}

// Inspect reads the log below a directory, and changes nothing. It returns an error only where it cannot read.
func Inspect(disk wal.FS, dir string) (*Report, error) {
	db := &DB{replicas: make(map[wal.Key]*replica)}
	found, err := wal.Inspect(disk, filepath.Join(dir, logDir), owner{db}.Replay)
	if err != nil {
		return nil, err
	}
	r := &Report{Report: *found}
	if len(r.Damage) > 0 {
		return r, nil
	}
	db.forget()
	r.Replicas = db.Replicas()
	return r, nil
}

// Replicas returns what the store has of each replica, by shard. It must not be called while the engine uses the store.
func (db *DB) Replicas() (reports []ReplicaReport) {
	for _, r := range db.all() {
		reports = append(reports, r.report())
	}
	slices.SortFunc(reports, func(a, b ReplicaReport) int {
		return slices.Compare([]uint64{a.Shard, a.Replica}, []uint64{b.Shard, b.Replica})
	})
	return reports
}

func (r *replica) report() ReplicaReport {
	first, count := r.entries.extent(r.snapshot.Index + 1)
	report := ReplicaReport{
		Key: r.key, First: first, Last: first + count - 1,
		Snapshot: r.snapshot.Index, SnapshotFile: r.snapshot.Filepath,
	}
	if state, err := r.raftState(r.snapshot.Index); err == nil {
		report.Term, report.Vote, report.Commit = state.State.Term, state.State.Vote, state.State.Commit
	}
	return report
}
