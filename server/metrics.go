package server

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	"github.com/signalbox/signalbox/server/metrics"
	"github.com/signalbox/signalbox/shard"
	"github.com/signalbox/signalbox/shard/slots"
)

// WriteMetrics writes all host metrics in the Prometheus text format.
func (h *Host) WriteMetrics(w io.Writer) {
	h.metrics.Write(w, func(shardID uint64) {
		if moved := h.config.LogSnapshots; moved != nil {
			moved.write(w, shardID)
		}
	})
	if syncs := h.config.LogSyncs; syncs != nil {
		syncs.Write(w)
	}
	h.metrics.WriteRequests(w)
	now := h.config.Clock()
	gauge := func(name string, v float64) { fmt.Fprintf(w, "%s %g\n", name, v) }
	gauge("signalbox_connections", float64(h.conns.Len()))
	gauge("signalbox_requests_denied_total", float64(h.gate.Denied()))
	saved, last := h.backups.Saved()
	gauge("signalbox_backup_shards_saved_total", float64(saved))
	gauge("signalbox_backup_last_timestamp_seconds", float64(last))
	gauge("signalbox_access_rules_age_seconds", h.gate.KnownAge().Seconds())
	held := h.conns.Held()
	gauge("signalbox_output_buffer_bytes", float64(held.Pending))
	gauge("signalbox_output_buffer_limit_bytes", float64(held.PendingLimit))
	gauge("signalbox_watch_memory_bytes", float64(h.watches.Used()))
	gauge("signalbox_watch_memory_limit_bytes", float64(h.watches.Limit()))
	gauge("signalbox_input_buffer_bytes", float64(held.Partial))
	gauge("signalbox_input_buffer_limit_bytes", float64(held.PartialLimit))
	homes := h.set.HomeShards.Counts()
	gauge("signalbox_home_shard_requests_pending", float64(homes.Waiting))
	gauge("signalbox_home_shard_unreachable_hosts", float64(homes.Unanswered))
	gauge("signalbox_slot_waiting_requests", float64(h.set.AwaitingSlots()))
	gauge("signalbox_slot_sealed_seconds", h.set.SealedFor().Seconds())
	gauge("signalbox_nodes", float64(h.meta.Machine.NodeCount()))
	gauge("signalbox_nodes_updating_config", float64(len(h.set.ChangingTiming())))
	for _, r := range h.set.All() {
		if !r.Holds() {
			continue
		}
		l := fmt.Sprintf(`{shard="%d"}`, r.ID)
		count := r.Machine.Count()
		queued, flying := r.Pipeline.Waiting()
		leads := 0.0
		if r.Leads() {
			leads = 1
		}
		gauge("signalbox_shard_is_leader"+l, leads)
		gauge("signalbox_shard_term"+l, float64(r.Leader().Term))
		gauge("signalbox_shard_applied_index"+l, float64(r.AppliedIndex()))
		gauge("signalbox_shard_sessions"+l, float64(count.Sessions))
		gauge("signalbox_shard_remote_sessions"+l, float64(count.RemoteSessions))
		gauge("signalbox_shard_semaphores"+l, float64(count.OfKind[shard.KindSemaphore]))
		for _, k := range shard.Kinds() {
			gauge(fmt.Sprintf(`signalbox_shard_objects_by_kind{shard="%d",kind="%v"}`, r.ID, k),
				float64(count.OfKind[k]))
		}
		gauge("signalbox_shard_waiters"+l, float64(count.Waiters))
		gauge("signalbox_shard_background_tasks"+l, float64(r.Machine.Pending()))
		gauge("signalbox_shard_clock_seconds"+l, float64(r.Machine.Time())/1000)
		gauge("signalbox_shard_timers"+l, float64(r.Machine.Alarms()))
		next, _ := r.Machine.NextAlarm()
		gauge("signalbox_shard_next_timer_seconds"+l, float64(next)/1000)
		gauge("signalbox_shard_clock_ticks_total"+l, float64(r.Beats()))
		gauge("signalbox_shard_queued_commands"+l, float64(queued))
		gauge("signalbox_shard_fair_share_batches_total"+l, float64(r.Pipeline.Shared()))
		gauge("signalbox_shard_batches_in_flight"+l, float64(flying))
		leases := r.Leases.Counts()
		gauge("signalbox_shard_sessions_attached"+l, float64(leases.Attached))
		gauge("signalbox_shard_sessions_detached"+l, float64(leases.Detached))
		gauge("signalbox_shard_sessions_expiring"+l, float64(leases.Expiring))
		gauge("signalbox_shard_stalls_total"+l, float64(leases.Stalls))
		owned, _ := r.Machine.Slots()
		away := map[slots.State]int{slots.Owned: owned.Len(), slots.Sealed: 0, slots.Transferred: 0}
		for _, x := range r.Machine.AwaySlots(nil) {
			away[x.State]++
		}
		for state, n := range away {
			gauge(fmt.Sprintf(`signalbox_slots{shard="%d",state=%q}`, r.ID, state), float64(n))
		}
		hub := r.Hub.Counters()
		gauge("signalbox_shard_watches"+l, float64(hub.Watches))
		gauge("signalbox_shard_watched_semaphores"+l, float64(hub.Topics))
		gauge("signalbox_shard_slow_watchers"+l, float64(hub.Slow))
		gauge("signalbox_watch_deltas_total"+l, float64(hub.Deltas))
		gauge("signalbox_watch_snapshots_total"+l, float64(hub.Snapshots))
		gauge("signalbox_watch_resyncs_total"+l, float64(hub.Resyncs))
		gauge("signalbox_watch_bytes_total"+l, float64(hub.Bytes))
		gauge("signalbox_shard_one_shot_watches"+l, float64(r.OneShots.Len()))
		if age := r.ProofAge(now); age < 1<<62 {
			gauge("signalbox_shard_read_barrier_age_seconds"+l, age.Seconds())
		}
		if age, ok := r.SweepAge(now); ok {
			gauge("signalbox_shard_remote_session_check_age_seconds"+l, age.Seconds())
		}
	}
	h.writeQuotas(w)
	h.writeCluster(w)
	h.writeHealthIssues(w)
	(&semaphoreWriter{newObjectWriter(h, w)}).write()
	(&rolloutWriter{newObjectWriter(h, w)}).write()
	(&processWriter{newObjectWriter(h, w)}).write()
}

// NewSyncTimes returns a histogram for the durations of log syncs, for Config.LogSyncs. Safe for concurrent use, even
// before the host exists.
func NewSyncTimes() *metrics.Histogram {
	return metrics.NewHistogram("signalbox_wal_fsync_duration_seconds", "")
}

// SnapshotTransfers counts the snapshots transferred between the logs of the local host and remote hosts, in both
// directions, for the host's metrics. Safe for concurrent use, even before the host exists.
type SnapshotTransfers struct {
	shards [shard.MaxShard + 1]transfers
}

type transfers struct{ sent, unsent, received atomic.Uint64 }

// SnapshotSent counts a snapshot a remote host has received.
func (t *SnapshotTransfers) SnapshotSent(shardID uint64) { t.of(shardID).sent.Add(1) }

// SnapshotNotSent counts a snapshot that did not reach a remote host.
func (t *SnapshotTransfers) SnapshotNotSent(shardID uint64) { t.of(shardID).unsent.Add(1) }

// SnapshotReceived counts a completely received snapshot.
func (t *SnapshotTransfers) SnapshotReceived(shardID uint64) { t.of(shardID).received.Add(1) }

// of returns a shard's counts. The log passes on ids from remote hosts: an invalid id gets counts outside the table.
func (t *SnapshotTransfers) of(shardID uint64) *transfers {
	if shardID >= uint64(len(t.shards)) {
		return new(transfers)
	}
	return &t.shards[shardID]
}

func (t *SnapshotTransfers) write(w io.Writer, shardID uint64) {
	l := fmt.Sprintf(`{shard="%d"}`, shardID)
	s := t.of(shardID)
	fmt.Fprintf(w, "signalbox_snapshots_sent_total%s %d\n", l, s.sent.Load())
	fmt.Fprintf(w, "signalbox_snapshot_send_failures_total%s %d\n", l, s.unsent.Load())
	fmt.Fprintf(w, "signalbox_snapshots_received_total%s %d\n", l, s.received.Load())
}

// label formats a label value for Prometheus: UTF-8, with three escapes. A value with unprintable characters is
// quoted, because clients choose values and a terminal may show them. A value that begins with a quote is quoted too,
// so that different values stay different.
func label(v string) string {
	if strings.HasPrefix(v, `"`) || !utf8.ValidString(v) || strings.ContainsFunc(v,
		func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		v = strconv.Quote(v)
	}
	return `"` + labelEscapes.Replace(v) + `"`
}

var labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
