package logdb

import (
	"path/filepath"

	"github.com/signalbox/signalbox/shard/hosts"
	"github.com/signalbox/signalbox/shard/raftlog/wal"
)

// Report is what Inspect found in a host's log.
type Report struct {
	wal.Report
	// Replicas are the replicas in the log, by shard; empty for a damaged log.
	Replicas []ReplicaReport
}

// ReplicaReport is the log content for a replica.
type ReplicaReport struct {
	wal.Key
	Term, Commit uint64
	// First and Last are the contiguous entries after the snapshot; without entries Last is less than First.
	First, Last uint64
	// Snapshot is the newest snapshot's last entry, 0 without a snapshot, and SnapshotFile the snapshot's file when it
	// was saved.
	Snapshot     uint64
	SnapshotFile string
}

// Positions returns each replica's progress, in no particular order: its term, and its last entry or its snapshot's
// last entry. The entries are appended, and may not be durable yet.
func (db *DB) Positions() (list []hosts.Position) {
	for _, r := range db.all() {
		list = append(list, r.position())
	}
	return list
}

// Last returns a replica's last entry. It never blocks.
func (db *DB) Last(shardID, replicaID uint64) uint64 {
	if r := db.existing(shardID, replicaID); r != nil {
		return r.last.Load()
	}
	return 0
}

// Inspect reads the log below a directory, and changes nothing. An error means that Inspect could not read.
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

// Replicas returns the store content for each replica, by shard. It must not be called while the engine uses the store.
// The log may rewrite records meanwhile.
func (db *DB) Replicas() (reports []ReplicaReport) {
	for _, r := range db.all() {
		reports = append(reports, r.report())
	}
	return reports
}

func (r *replica) report() ReplicaReport {
	r.mu.Lock()
	first, count := r.entries.extent(r.snapshot.Index + 1)
	report := ReplicaReport{
		Key: r.key, First: first, Last: first + count - 1,
		Snapshot: r.snapshot.Index, SnapshotFile: r.snapshot.Filepath,
	}
	r.mu.Unlock()
	if state, err := r.raftState(report.Snapshot); err == nil {
		report.Term, report.Commit = state.State.Term, state.State.Commit
	}
	return report
}
