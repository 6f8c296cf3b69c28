package loadgen

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"time"
)

// Report is what came of a run. Its form as JSON is stable: fields are added, none is renamed. What does not
// apply to a workload is left out.
type Report struct {
	Workload string `json:"workload"`
	// Command is what was run, and Started when.
	Command     string    `json:"command,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Hosts       int       `json:"hosts"`
	Callers     int       `json:"callers"`
	Connections int       `json:"connections"`
	Rate        float64   `json:"rate,omitempty"`
	Seconds     float64   `json:"seconds"`
	// Operations are those that succeeded; Errors are the others, by status.
	Operations int64            `json:"operations"`
	Errors     map[string]int64 `json:"errors"`
	PerSecond  float64          `json:"per_second"`
	LatencyUS  *Quantiles       `json:"latency_us,omitempty"`
	// StagesUS is the latency of each part of an operation, such as acquire and release, and of each operation of a mix.
	// It counts from the beginning of that part.
	StagesUS map[string]*Quantiles `json:"stages_us,omitempty"`

	// Events are views that watchers were sent; Updates the changes that brought them about; Merged how many
	// changes watchers were not shown by themselves, but together with a later one.
	Events          *int64   `json:"events,omitempty"`
	EventsPerSecond *float64 `json:"events_per_second,omitempty"`
	Updates         *int64   `json:"updates,omitempty"`
	Merged          *int64   `json:"merged,omitempty"`
	// ConvergeMS is how long it took from the asking for a change until everybody who watches had seen it.
	ConvergeMS *Quantiles `json:"converge_ms,omitempty"`
	// BytesPerChangeAndConsumer is what hosts sent.
	BytesPerChangeAndConsumer *float64 `json:"bytes_per_change_and_consumer,omitempty"`

	// ServerRSSBytes, ServerHeapBytes and ServerCPUSeconds are of all hosts together: memory at the end,
	// CPU while it was measured.
	ServerRSSBytes   *int64   `json:"server_rss_bytes,omitempty"`
	ServerHeapBytes  *int64   `json:"server_heap_bytes,omitempty"`
	ServerCPUSeconds *float64 `json:"server_cpu_seconds,omitempty"`
	// LoadCPUSeconds is what the making of the load has used meanwhile, in this process.
	LoadCPUSeconds *float64 `json:"load_cpu_seconds,omitempty"`
	// BytesPerSession is by how much the heap has grown for each session, RSSBytesPerSession the whole
	// memory.
	BytesPerSession    *float64 `json:"bytes_per_session,omitempty"`
	RSSBytesPerSession *float64 `json:"rss_bytes_per_session,omitempty"`

	Sessions int `json:"sessions,omitempty"`
	Watchers int `json:"watchers,omitempty"`
	Workers  int `json:"workers,omitempty"`
	// Parts are the operations of each part of a mix.
	Parts map[string]int64 `json:"parts,omitempty"`

	// ErrorExamples has the text of the first error of each status, Violations what did not hold.
	ErrorExamples map[string]string `json:"error_examples,omitempty"`
	Violations    []string          `json:"violations,omitempty"`
	// Timeline is the course of the run.
	Timeline []Point `json:"timeline,omitempty"`

	spectrum []spectral
}

// Quantiles are points of a distribution.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// spectral is a point of the whole distribution, for charts.
type spectral struct{ percent, micros float64 }

func newReport(c *Config, l *load) *Report {
	r := &Report{
		Workload: c.Workload, Command: c.Command, Started: l.began.UTC().Truncate(time.Second), Hosts: c.Hosts, Callers: c.Callers, Connections: c.Connections, Rate: c.Rate,
		Seconds: l.seconds, Operations: l.latency.count(), Errors: l.failures.count,
		ErrorExamples: l.failures.first, LatencyUS: quantiles(&l.latency, time.Microsecond), Timeline: l.timeline,
		spectrum: spectrum(&l.latency),
	}
	r.PerSecond = perSecond(r.Operations, r.Seconds)
	return r
}

func perSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// quantiles returns nil where nothing was measured.
func quantiles(h *histogram, unit time.Duration) *Quantiles {
	if h.count() == 0 {
		return nil
	}
	in := func(d time.Duration) float64 { return math.Round(float64(d)/float64(unit)*1000) / 1000 }
	return &Quantiles{
		P50: in(h.quantile(50)), P90: in(h.quantile(90)), P99: in(h.quantile(99)), P999: in(h.quantile(99.9)),
		Max: in(h.most),
	}
}

func newMillis(h *histogram) *Quantiles { return quantiles(h, time.Millisecond) }

// spectrum takes points from the distribution, closer together towards its end: each step leaves three
// quarters of what is above.
func spectrum(h *histogram) []spectral {
	if h.count() == 0 {
		return nil
	}
	var points []spectral
	for above := 1.0; above*float64(h.count()) >= 0.5; above *= 0.75 {
		percent := 100 * (1 - above)
		points = append(points, spectral{percent, float64(h.quantile(percent)) / float64(time.Microsecond)})
	}
	return append(points, spectral{100, float64(h.most) / float64(time.Microsecond)})
}

func whole(bytes float64) *int64 {
	n := int64(bytes)
	return &n
}

// addUsage adds what the hosts have used. Without gauges there is nothing to add.
func (r *Report) addUsage(before, after usage) {
	if after == (usage{}) {
		return
	}
	cpu := after.cpu - before.cpu
	r.ServerCPUSeconds, r.ServerRSSBytes, r.ServerHeapBytes = &cpu, whole(after.resident), whole(after.heap)
}

func (r *Report) addEvents(n int64) {
	each := perSecond(n, r.Seconds)
	r.Events, r.EventsPerSecond = &n, &each
}

// describe says how often which error came, with an example.
func (f *failures) describe() string {
	var texts []string
	for _, status := range slices.Sorted(maps.Keys(f.count)) {
		texts = append(texts, fmt.Sprintf("%s %d times (%s)", status, f.count[status], f.first[status]))
	}
	return strings.Join(texts, ", ")
}

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}
