package server

import (
	"fmt"
	"io"
	"sync/atomic"

	"github.com/signalbox/signalbox/server/metrics"
)

// SyncTimes counts how long the log's syncs to the disk take, for the metrics of a host. Many goroutines may use it,
// even before the host exists.
type SyncTimes = metrics.Histogram

// NewSyncTimes returns SyncTimes without counts.
func NewSyncTimes() *SyncTimes { return metrics.NewHistogram("signalbox_log_sync_seconds", "") }

// SnapshotTransfers counts the snapshots between the logs of this host and the logs of other hosts, in both
// directions, for the metrics of the host. Many goroutines may use it, even before the host exists.
type SnapshotTransfers struct {
	shards [MaxShards + 1]transfers
}

type transfers struct{ sent, unsent, received atomic.Uint64 }

// SnapshotSent counts a snapshot that another host has.
func (t *SnapshotTransfers) SnapshotSent(shardID uint64) { t.of(shardID).sent.Add(1) }

// SnapshotNotSent counts a snapshot that did not get to another host.
func (t *SnapshotTransfers) SnapshotNotSent(shardID uint64) { t.of(shardID).unsent.Add(1) }

// SnapshotReceived counts a snapshot that has arrived whole.
func (t *SnapshotTransfers) SnapshotReceived(shardID uint64) { t.of(shardID).received.Add(1) }

// of returns the counts of a shard. The log passes on ids from other hosts: an impossible id gets counts outside of
// the table.
func (t *SnapshotTransfers) of(shardID uint64) *transfers {
	if shardID >= uint64(len(t.shards)) {
		return new(transfers)
	}
	return &t.shards[shardID]
}

func (t *SnapshotTransfers) write(w io.Writer, shardID uint64) {
	l := fmt.Sprintf(`{shard="%d"}`, shardID)
	s := t.of(shardID)
	fmt.Fprintf(w, "signalbox_log_snapshots_sent_total%s %d\n", l, s.sent.Load())
	fmt.Fprintf(w, "signalbox_log_snapshot_sends_failed_total%s %d\n", l, s.unsent.Load())
	fmt.Fprintf(w, "signalbox_log_snapshots_received_total%s %d\n", l, s.received.Load())
}
