package raftlog

import "github.com/signalbox/signalbox/shard"

// ShardStatus describes the host's replica of a shard.
type ShardStatus struct {
	ShardID uint64
	shard.Leadership

	// AppliedIndex is the last applied batch's index, or the index of the snapshot that restored the state machine.
	AppliedIndex uint64
	// LastIndex is the end of the log on the host's disk.
	LastIndex uint64
	// SnapshotIndex is the newest snapshot's index on the host's disk; zero if there is none.
	SnapshotIndex uint64
}

// Lag is how many log entries the state machine has not applied. The log's own entries, one for each election, count as
// not applied until a batch follows, so a small constant lag means nothing.
func (s ShardStatus) Lag() uint64 { return s.LastIndex - min(s.LastIndex, s.AppliedIndex) }

// Status returns the status for all shards that run on this host, smallest id first.
func (h *Host) Status() []ShardStatus {
	var all []ShardStatus
	for _, l := range h.logsByShard() {
		all = append(all, l.status())
	}
	return all
}

func (l *Log) status() ShardStatus {
	s := ShardStatus{ShardID: l.shardID, Leadership: l.Leadership(), AppliedIndex: l.machine.applied.Load()}
	if reader, err := l.host.engine.GetLogReader(l.shardID); err == nil {
		_, last := reader.GetRange()
		// Applied entries were saved before; the engine's reader sees an entry slightly later.
		s.LastIndex = max(last, s.AppliedIndex)
	}
	s.SnapshotIndex, _ = l.newestSnapshot()
	if l.machine.restored.Load() {
		s.AppliedIndex = max(s.AppliedIndex, s.SnapshotIndex)
	}
	return s
}

// newestSnapshot returns the newest snapshot's index on the host's disk, zero if there is none. The index is unknown
// while the shard is being closed.
func (l *Log) newestSnapshot() (index uint64, known bool) {
	reader, err := l.host.engine.GetLogReader(l.shardID)
	if err != nil {
		return 0, false
	}
	// The engine keeps a snapshot's files until each reference is released.
	snapshot := reader.Snapshot()
	if snapshot.Index > 0 {
		if err := snapshot.Unref(); err != nil {
			l.host.config.Logger.Error("remove an old snapshot",
				"shard", l.shardID, "index", snapshot.Index, "error", err)
		}
	}
	return snapshot.Index, true
}

// Term implements transport.Replicas.
func (h *Host) Term(shardID uint64) uint64 {
	if l := h.log(shardID); l != nil {
		return l.Leadership().Term
	}
	return 0
}

// Has implements transport.Replicas.
func (h *Host) Has(shardID, index uint64) bool {
	l := h.log(shardID)
	if l == nil {
		return false
	}
	snapshot, _ := l.newestSnapshot()
	return index <= max(snapshot, l.Applied())
}
