// Package metrics collects a host's metrics: requests, batches, snapshots, and their durations. Every count on the
// request path is one atomic add.
package metrics

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	vm "github.com/VictoriaMetrics/metrics"

	"github.com/signalbox/signalbox/protocol"
)

// RequestKinds is the array length for one element per request kind.
const RequestKinds = protocol.MaxRequestKind + 1

// Metrics are one host's metrics. Safe for concurrent use.
type Metrics struct {
	Set      *vm.Set
	Requests [RequestKinds]*vm.Counter // by kind
	failures [RequestKinds][32]atomic.Pointer[vm.Counter]
	latency  [RequestKinds]*Histogram
	// Acquire is the time from queued to granted. Apply is the time to apply a batch. Commit is the time from
	// proposing a batch to applying it: the disks and the network between hosts. Saves and Loads are the durations of
	// log snapshots.
	Acquire, Apply, Commit, Saves, Loads *Histogram
	// SlotPause is the time from sealing a slot to the outcome. SlotsOpened and SlotsKept count the outcomes.
	SlotPause              *Histogram
	SlotsOpened, SlotsKept *vm.Counter

	LeaderChanges *vm.Counter
	Digests       *vm.Counter // replica checks without a difference
	Greeted       *vm.Counter // connections
	commands      *vm.Counter
	batches       *vm.Counter
	ended         [8]*vm.Counter
	unlogged      map[protocol.Kind]*vm.Counter
	snapshots     snapshotTable
}

// New returns the metrics for a host.
func New() *Metrics {
	m := &Metrics{Set: vm.NewSet()}
	m.commands = m.Set.NewCounter(`signalbox_commands_applied_total`)
	m.batches = m.Set.NewCounter(`signalbox_batches_applied_total`)
	m.Greeted = m.Set.NewCounter(`signalbox_connections_authenticated_total`)
	m.Acquire = NewHistogram("signalbox_acquire_wait_seconds", "")
	m.Apply = NewHistogram("signalbox_apply_duration_seconds", "")
	m.Commit = NewHistogram("signalbox_commit_duration_seconds", "")
	m.Saves = NewHistogram("signalbox_snapshot_save_duration_seconds", "")
	m.Loads = NewHistogram("signalbox_snapshot_load_duration_seconds", "")
	m.SlotPause = NewHistogram("signalbox_slot_pause_seconds", "")
	m.SlotsOpened = m.Set.NewCounter(`signalbox_slot_moves_total{outcome="opened"}`)
	m.SlotsKept = m.Set.NewCounter(`signalbox_slot_moves_total{outcome="kept"}`)
	m.Digests = m.Set.NewCounter(`signalbox_consistency_checks_total`)
	m.LeaderChanges = m.Set.NewCounter(`signalbox_leader_changes_total`)
	for k := range m.Requests {
		kind := protocol.Kind(k)
		known := (&protocol.Request{Kind: kind}).Message() != nil
		name := "unknown"
		if known {
			name = Word(kind)
		}
		m.Requests[k] = m.Set.GetOrCreateCounter(fmt.Sprintf(`signalbox_requests_total{kind=%q}`, name))
		if known {
			m.latency[k] = NewHistogram("signalbox_request_duration_seconds", fmt.Sprintf(`kind=%q`, name))
		}
	}
	m.unlogged = make(map[protocol.Kind]*vm.Counter)
	for _, k := range []protocol.Kind{protocol.KindRolloutReport, protocol.KindRolloutPoll} {
		m.unlogged[k] = m.Set.GetOrCreateCounter(fmt.Sprintf(`signalbox_rollout_noop_requests_total{kind=%q}`, Word(k)))
	}
	for i := range m.ended {
		reason := min(protocol.EndReason(i), protocol.EndNodeDropped)
		m.ended[i] = m.Set.GetOrCreateCounter(fmt.Sprintf(`signalbox_sessions_ended_total{reason=%q}`, Word(reason)))
	}
	return m
}

// Word formats a name as a label value, in lower snake case.
func Word(name fmt.Stringer) string {
	return strings.ToLower(strings.ReplaceAll(name.String(), " ", "_"))
}

// Failed counts a request with an error status.
func (m *Metrics) Failed(k protocol.Kind, s protocol.Status) {
	at := &m.failures[k][s&31]
	c := at.Load()
	if c == nil {
		c = m.Set.GetOrCreateCounter(fmt.Sprintf(`signalbox_requests_failed_total{kind=%q,status=%q}`, Word(k),
			Word(s)))
		at.Store(c)
	}
	c.Inc()
}

// Answered records the time from a request's arrival to its answer.
func (m *Metrics) Answered(k protocol.Kind, nanos int64) {
	if h := m.latency[k]; h != nil {
		h.Observe(nanos)
	}
}

// Unlogged counts a rollout report or question answered without the log, because the request changed nothing.
func (m *Metrics) Unlogged(k protocol.Kind) { m.unlogged[k].Inc() }

// Commands returns the number of applied commands.
func (m *Metrics) Commands() uint64 { return m.commands.Get() }

// Applied counts a batch and records the time to apply it.
func (m *Metrics) Applied(commands int, nanos int64) {
	m.commands.Add(commands)
	m.batches.Inc()
	m.Apply.Observe(nanos)
}

// SessionEnded counts a session end.
func (m *Metrics) SessionEnded(why protocol.EndReason) { m.ended[why&7].Inc() }

// Write writes all metrics except request times. Write calls each for every shard that CountSnapshots was called for,
// to add the metrics for the shard's log.
func (m *Metrics) Write(w io.Writer, each func(shardID uint64)) {
	m.Set.WritePrometheus(w)
	for _, h := range []*Histogram{m.Acquire, m.Apply, m.Commit, m.Saves, m.Loads, m.SlotPause} {
		h.Write(w)
	}
	for _, id := range m.snapshots.shards() {
		m.snapshots.of(id).write(w, id)
		each(id)
	}
}

// WriteRequests writes request times.
func (m *Metrics) WriteRequests(w io.Writer) {
	for _, h := range m.latency {
		if h != nil {
			h.Write(w)
		}
	}
}

// Histogram counts durations in power-of-two buckets, from a microsecond to about a minute.
type Histogram struct {
	name, labels string
	buckets      [histogramBuckets + 1]atomic.Uint64
	nanos        atomic.Int64
}

const histogramBuckets = 26

// NewHistogram returns an empty histogram with a name; labels may be empty.
func NewHistogram(name, labels string) *Histogram { return &Histogram{name: name, labels: labels} }

// Observe records a duration.
func (h *Histogram) Observe(nanos int64) {
	nanos = max(nanos, 0)
	h.buckets[min(bits.Len64(uint64(nanos)/1000), histogramBuckets)].Add(1)
	h.nanos.Add(nanos)
}

// Totals returns how many times were counted, their sum, and how many were at least a quarter of a second.
func (h *Histogram) Totals() (count uint64, sum time.Duration, long uint64) {
	for i := range h.buckets {
		n := h.buckets[i].Load()
		count += n
		if i >= quarterSecond {
			long += n
		}
	}
	return count, time.Duration(h.nanos.Load()), long
}

// quarterSecond is the first bucket of times above 262 ms.
const quarterSecond = 19

// Write writes the series, in the text form of Prometheus; nothing for an empty histogram.
func (h *Histogram) Write(w io.Writer) {
	total := uint64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
	}
	if total == 0 {
		return
	}
	comma, braces := "", ""
	if h.labels != "" {
		comma, braces = ",", "{"+h.labels+"}"
	}
	sum := uint64(0)
	for i := range histogramBuckets {
		sum += h.buckets[i].Load()
		le := strconv.FormatFloat(float64(uint64(1)<<i)/1e6, 'g', -1, 64)
		fmt.Fprintf(w, "%s_bucket{%s%sle=%q} %d\n", h.name, h.labels, comma, le, sum)
	}
	fmt.Fprintf(w, "%s_bucket{%s%sle=\"+Inf\"} %d\n", h.name, h.labels, comma, total)
	fmt.Fprintf(w, "%s_sum%s %g\n", h.name, braces, float64(h.nanos.Load())/1e9)
	fmt.Fprintf(w, "%s_count%s %d\n", h.name, braces, total)
}
