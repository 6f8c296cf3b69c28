package raftlog

import "github.com/signalbox/signalbox/shard"

// ShardStatus is how one shard's replica on this host is doing.
type ShardStatus struct {
	ShardID uint64
	Replica uint64 // the id of this host's
	shard.Leadership

	// AppliedIndex is that of the last batch that the state machine has applied, or of the snapshot
	// that it was restored from.
	AppliedIndex uint64
	// FirstIndex and LastIndex are what this host's disk holds of the log.
	FirstIndex, LastIndex uint64
	// SnapshotIndex is that of the newest snapshot on this host's disk; zero: none.
	SnapshotIndex uint64
	// SnapshotFailures counts snapshots that could not be saved since the replica was started.
	SnapshotFailures uint64

	// Proposals and ProposalBytes are the batches whose outcome is not known yet.
	Proposals     int
	ProposalBytes int64
	// Barriers wait for a round; BarrierRounds have begun since the replica was started.
	Barriers      int
	BarrierRounds uint64
}

// Lag is how many entries of the log the state machine has not applied. The log's own entries, one for each election,
// count as not applied until a batch follows, so a small constant lag is none.
func (s ShardStatus) Lag() uint64 { return s.LastIndex - min(s.LastIndex, s.AppliedIndex) }

// Status returns the status of all shards that run on this host, smallest id first.
func (h *Host) Status() []ShardStatus {
	var all []ShardStatus
	for _, l := range h.logsByShard() {
		all = append(all, l.status())
	}
	return all
}

func (l *Log) status() ShardStatus {
	s := ShardStatus{
		ShardID:          l.shardID,
		Replica:          l.replica.Replica,
		Leadership:       l.Leadership(),
		AppliedIndex:     l.machine.applied.Load(),
		SnapshotFailures: l.machine.saveFailures.Load(),
		Proposals:        int(l.proposals.count.Load()),
		ProposalBytes:    l.proposals.bytes.Load(),
		Barriers:         l.barriers.len(),
		BarrierRounds:    l.barriers.rounds.Load(),
	}
	if reader, err := l.host.engine.GetLogReader(l.shardID); err == nil {
		first, last := reader.GetRange()
		// What is applied was saved before; the engine's reader learns of it a moment after that.
		s.FirstIndex, s.LastIndex = first, max(last, s.AppliedIndex)
	}
	s.SnapshotIndex, _ = l.newestSnapshot()
	if l.machine.restored.Load() {
		s.AppliedIndex = max(s.AppliedIndex, s.SnapshotIndex)
	}
	return s
}

// newestSnapshot returns the index of the newest snapshot on this host's disk, zero where there is none. It is not
// known while the shard is being closed.
func (l *Log) newestSnapshot() (index uint64, known bool) {
	reader, err := l.host.engine.GetLogReader(l.shardID)
	if err != nil {
		return 0, false
	}
	// The engine keeps a snapshot's files until each reference is given back.
	snapshot := reader.Snapshot()
	if snapshot.Index > 0 {
		if err := snapshot.Unref(); err != nil {
			l.host.config.Logger.Error("remove an old snapshot",
				"shard", l.shardID, "index", snapshot.Index, "error", err)
		}
	}
	return snapshot.Index, true
}
