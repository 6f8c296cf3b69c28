package server

import (
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"github.com/signalbox/signalbox/server/metrics"
)

// SyncTimes counts how long the log's syncs to the disk take, for the metrics of the host that is given them. It
// may be used before there is a host, and by many goroutines.
type SyncTimes struct {
	times *metrics.Histogram
}

// NewSyncTimes returns SyncTimes that have counted nothing.
func NewSyncTimes() *SyncTimes {
	return &SyncTimes{times: metrics.NewHistogram("signalbox_log_sync_seconds", "")}
}

// Observe counts one.
func (s *SyncTimes) Observe(d time.Duration) { s.times.Observe(int64(d)) }

// SnapshotTransfers counts the snapshots that the logs of this host send to those of others and get from them, for the
// metrics of the host that is given it. It may be used before there is a host, and by many goroutines.
type SnapshotTransfers struct {
	shards [MaxShards + 1]transfers
}

type transfers struct{ sent, unsent, received atomic.Uint64 }

// SnapshotSent counts one that another host has.
func (t *SnapshotTransfers) SnapshotSent(shardID uint64) { t.of(shardID).sent.Add(1) }

// SnapshotNotSent counts one that did not get to another host.
func (t *SnapshotTransfers) SnapshotNotSent(shardID uint64) { t.of(shardID).unsent.Add(1) }

// SnapshotReceived counts one that is whole.
func (t *SnapshotTransfers) SnapshotReceived(shardID uint64) { t.of(shardID).received.Add(1) }

// of returns the counts of a shard. The log passes on ids that other hosts sent: one that cannot be is counted nowhere.
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
