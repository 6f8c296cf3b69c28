package server

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"sync/atomic"
	"unicode"
	"unicode/utf8"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/protocol"
)

// metrics are what a host counts. Everything on the path of a request is an atomic add.
type metrics struct {
	set      *vm.Set
	host     *Host
	requests [requestKinds]*vm.Counter
	failures [requestKinds][32]atomic.Pointer[vm.Counter]
	latency  [requestKinds]*histogram
	acquire  *histogram // from queued to granted
	apply    *histogram // one batch
	commit   *histogram // from proposing a batch to applying it: the disks and the way between hosts
	saves    *histogram // one snapshot of a log
	loads    *histogram // the same
	leaders  *vm.Counter
	digests  *vm.Counter
	commands *vm.Counter
	batches  *vm.Counter
	greeted  *vm.Counter
	ended    [8]*vm.Counter
	// snapshots are those of the logs, by shard.
	snapshots []snapshotCounts
}

// requestKinds is the length of what has a place for every kind of request.
const requestKinds = protocol.MaxRequestKind + 1

func newMetrics(h *Host) *metrics {
	m := &metrics{set: vm.NewSet(), host: h, snapshots: make([]snapshotCounts, h.config.Shards+1)}
	m.commands = m.set.NewCounter(`signalbox_commands_applied_total`)
	m.batches = m.set.NewCounter(`signalbox_batches_applied_total`)
	m.greeted = m.set.NewCounter(`signalbox_connections_greeted_total`)
	m.acquire = &histogram{name: "signalbox_acquire_wait_seconds"}
	m.apply = &histogram{name: "signalbox_apply_seconds"}
	m.commit = &histogram{name: "signalbox_commit_seconds"}
	m.saves = &histogram{name: "signalbox_log_snapshot_save_seconds"}
	m.loads = &histogram{name: "signalbox_log_snapshot_load_seconds"}
	m.digests = m.set.NewCounter(`signalbox_digest_checks_total`)
	m.set.NewGauge(`signalbox_feature_level`, func() float64 { return float64(h.meta.machine.Level()) })
	m.leaders = m.set.NewCounter(`signalbox_leader_changes_total`)
	for k := range m.requests {
		kind := protocol.Kind(k)
		known := (&protocol.Request{Kind: kind}).Message() != nil
		name := "UNKNOWN"
		if known {
			name = kind.String()
		}
		m.requests[k] = m.set.GetOrCreateCounter(fmt.Sprintf(`signalbox_requests_total{kind=%q}`, name))
		if known {
			m.latency[k] = &histogram{name: "signalbox_request_seconds", labels: fmt.Sprintf(`kind=%q`, kind)}
		}
	}
	for i := range m.ended {
		reason := min(protocol.EndReason(i), protocol.EndNodeDropped)
		m.ended[i] = m.set.GetOrCreateCounter(fmt.Sprintf(`signalbox_sessions_ended_total{reason=%q}`, reason))
	}
	return m
}

// failed counts a request that was not carried out.
func (m *metrics) failed(k protocol.Kind, s protocol.Status) {
	at := &m.failures[k][s&31]
	c := at.Load()
	if c == nil {
		c = m.set.GetOrCreateCounter(fmt.Sprintf(`signalbox_requests_failed_total{kind=%q,status=%q}`, k, s))
		at.Store(c)
	}
	c.Inc()
}

// answered counts the time from a request's arrival to its answer.
func (m *metrics) answered(k protocol.Kind, nanos int64) {
	if h := m.latency[k]; h != nil {
		h.observe(nanos)
	}
}

func (m *metrics) waited(nanos int64) { m.acquire.observe(nanos) }

func (m *metrics) applied(commands int, nanos int64) {
	m.commands.Add(commands)
	m.batches.Inc()
	m.apply.observe(nanos)
}

// histogram counts times in buckets of powers of two, from a microsecond to about a minute.
type histogram struct {
	name, labels string
	buckets      [histogramBuckets + 1]atomic.Uint64
	nanos        atomic.Int64
}

const histogramBuckets = 26

func (h *histogram) observe(nanos int64) {
	nanos = max(nanos, 0)
	h.buckets[min(bits.Len64(uint64(nanos)/1000), histogramBuckets)].Add(1)
	h.nanos.Add(nanos)
}

func (h *histogram) write(w io.Writer) {
	total := uint64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
	}
	if total == 0 {
		return
	}
	comma := ""
	if h.labels != "" {
		comma = ","
	}
	sum := uint64(0)
	for i := range histogramBuckets {
		sum += h.buckets[i].Load()
		le := strconv.FormatFloat(float64(uint64(1)<<i)/1e6, 'g', -1, 64)
		fmt.Fprintf(w, "%s_bucket{%s%sle=%q} %d\n", h.name, h.labels, comma, le, sum)
	}
	fmt.Fprintf(w, "%s_bucket{%s%sle=\"+Inf\"} %d\n", h.name, h.labels, comma, total)
	braces := ""
	if h.labels != "" {
		braces = "{" + h.labels + "}"
	}
	fmt.Fprintf(w, "%s_sum%s %g\n", h.name, braces, float64(h.nanos.Load())/1e9)
	fmt.Fprintf(w, "%s_count%s %d\n", h.name, braces, total)
}

// WriteMetrics writes all that the host counts, in the text form that Prometheus reads.
func (h *Host) WriteMetrics(w io.Writer) {
	m := h.metrics
	m.set.WritePrometheus(w)
	m.acquire.write(w)
	m.apply.write(w)
	m.commit.write(w)
	m.saves.write(w)
	m.loads.write(w)
	for id := range m.snapshots {
		m.snapshots[id].write(w, uint64(id))
		if moved := h.config.LogSnapshots; moved != nil {
			moved.write(w, uint64(id))
		}
	}
	if syncs := h.config.LogSyncs; syncs != nil {
		syncs.times.write(w)
	}
	for _, l := range m.latency {
		if l != nil {
			l.write(w)
		}
	}
	now := h.now()
	gauge := func(name string, v float64) { fmt.Fprintf(w, "%s %g\n", name, v) }
	gauge("signalbox_connections", float64(h.connections()))
	pending := 0
	h.eachConn(func(c *conn) { pending += c.peer.Pending() })
	gauge("signalbox_pending_bytes", float64(pending))
	gauge("signalbox_pending_limit_bytes", float64(h.pending.limit))
	gauge("signalbox_watch_memory_bytes", float64(h.watches.Used()))
	gauge("signalbox_watch_memory_limit_bytes", float64(h.watches.Limit()))
	gauge("signalbox_partial_frame_bytes", float64(h.partial.held.Load()))
	gauge("signalbox_partial_frame_limit_bytes", float64(h.partial.limit))
	gauge("signalbox_nodes", float64(h.meta.machine.NodeCount()))
	gauge("signalbox_nodes_changing_timing", float64(len(h.timing.changing())))
	for _, r := range h.replicas {
		l := fmt.Sprintf(`{shard="%d"}`, r.id)
		count := r.machine.Count()
		queued, flying := r.pipeline.Waiting()
		leads := 0.0
		if r.leads() {
			leads = 1
		}
		gauge("signalbox_shard_leads"+l, leads)
		gauge("signalbox_shard_term"+l, float64(r.leadership.Load().Term))
		gauge("signalbox_shard_applied_index"+l, float64(r.applied.Load()))
		gauge("signalbox_shard_sessions"+l, float64(count.Sessions))
		gauge("signalbox_shard_guests"+l, float64(count.Guests))
		gauge("signalbox_shard_semaphores"+l, float64(count.Objects))
		gauge("signalbox_shard_waiters"+l, float64(count.Waiters))
		gauge("signalbox_shard_pending"+l, float64(r.machine.Pending()))
		gauge("signalbox_shard_queued_commands"+l, float64(queued))
		gauge("signalbox_shard_shared_batches_total"+l, float64(r.pipeline.Shared()))
		gauge("signalbox_shard_batches_in_flight"+l, float64(flying))
		leases := r.leases.Counts()
		gauge("signalbox_shard_sessions_attached"+l, float64(leases.Attached))
		gauge("signalbox_shard_sessions_detached"+l, float64(leases.Detached))
		gauge("signalbox_shard_sessions_expiring"+l, float64(leases.Expiring))
		gauge("signalbox_shard_stalls_total"+l, float64(leases.Stalls))
		hub := r.hub.Counters()
		gauge("signalbox_shard_watches"+l, float64(hub.Watches))
		gauge("signalbox_shard_watched_semaphores"+l, float64(hub.Topics))
		gauge("signalbox_shard_slow_watches"+l, float64(hub.Slow))
		gauge("signalbox_watch_deltas_total"+l, float64(hub.Deltas))
		gauge("signalbox_watch_snapshots_total"+l, float64(hub.Snapshots))
		gauge("signalbox_watch_resyncs_total"+l, float64(hub.Resyncs))
		gauge("signalbox_watch_bytes_total"+l, float64(hub.Bytes))
		gauge("signalbox_shard_one_shot_watches"+l, float64(r.watching.Load()))
		if age := r.fresh.age(now); age < 1<<62 {
			gauge("signalbox_shard_proof_age_seconds"+l, age.Seconds())
		}
	}
	h.writeQuotas(w)
	newSemaphoreWriter(h, w).write()
}

// label writes the value of a label as Prometheus reads it: UTF-8, with three escapes. A value in which something is
// not printable is quoted, since clients choose it and a terminal may show it; so is one that begins like a quoted one,
// for two values must not become the same.
func label(v string) string {
	if strings.HasPrefix(v, `"`) || !utf8.ValidString(v) || strings.ContainsFunc(v, func(r rune) bool { return r != '\n' && !unicode.IsPrint(r) }) {
		v = strconv.Quote(v)
	}
	return `"` + labelEscapes.Replace(v) + `"`
}

var labelEscapes = strings.NewReplacer("\\", `\\`, "\n", `\n`, `"`, `\"`)
