// Package report represents a load run's result: one model, written as JSON, as text and as a page with charts. The
// load generator and the drivers for other services share the package.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is a run's result. Its JSON form is stable: later versions may add fields, but never rename one. Fields that
// do not apply to a workload are omitted.
type Report struct {
	Workload string `json:"workload"`
	// Command is the run's command line, and Started its start time.
	Command     string    `json:"command,omitempty"`
	Started     time.Time `json:"started,omitzero"`
	Hosts       int       `json:"hosts"`
	Callers     int       `json:"callers"`
	Connections int       `json:"connections"`
	Rate        float64   `json:"rate,omitempty"`
	Seconds     float64   `json:"seconds"`
	// Operations counts successful operations. Errors counts failed operations by status.
	Operations int64            `json:"operations"`
	Errors     map[string]int64 `json:"errors"`
	PerSecond  float64          `json:"per_second"`
	LatencyUS  *Quantiles       `json:"latency_us,omitempty"`
	// StagesUS contains the latencies of an operation's parts, such as acquire and release, and of the operations in
	// a mix. A part's latency is measured from its beginning.
	StagesUS map[string]*Quantiles `json:"stages_us,omitempty"`

	// Events counts views sent to watchers, and Updates the underlying changes. Merged counts changes that were only
	// shown together with a later change.
	Events          *int64   `json:"events,omitempty"`
	EventsPerSecond *float64 `json:"events_per_second,omitempty"`
	Updates         *int64   `json:"updates,omitempty"`
	Merged          *int64   `json:"merged,omitempty"`
	// ConvergeMS is the time from a change's request until every watcher had seen it.
	ConvergeMS *Quantiles `json:"converge_ms,omitempty"`
	// BytesPerChangeAndConsumer is the number of bytes hosts sent per change and consumer.
	BytesPerChangeAndConsumer *float64 `json:"bytes_per_change_and_consumer,omitempty"`

	// ServerRSSBytes, ServerHeapBytes and ServerCPUSeconds are sums over all hosts: memory at the end, CPU time
	// during the measurement.
	ServerRSSBytes   *int64   `json:"server_rss_bytes,omitempty"`
	ServerHeapBytes  *int64   `json:"server_heap_bytes,omitempty"`
	ServerCPUSeconds *float64 `json:"server_cpu_seconds,omitempty"`
	// LoadCPUSeconds is the load generator's CPU time during the measurement, in this process.
	LoadCPUSeconds *float64 `json:"load_cpu_seconds,omitempty"`
	// BytesPerSession is the heap growth per session, RSSBytesPerSession the total memory growth.
	BytesPerSession    *float64 `json:"bytes_per_session,omitempty"`
	RSSBytesPerSession *float64 `json:"rss_bytes_per_session,omitempty"`

	Sessions int `json:"sessions,omitempty"`
	Watchers int `json:"watchers,omitempty"`
	Workers  int `json:"workers,omitempty"`
	// Figures are workload-specific figures, in reading order.
	Figures []Figure `json:"figures,omitempty"`
	// Parts counts the operations in every part of a mix.
	Parts map[string]int64 `json:"parts,omitempty"`

	// ErrorExamples contains the first error text for every status, Violations the violated guarantees.
	ErrorExamples map[string]string `json:"error_examples,omitempty"`
	Violations    []string          `json:"violations,omitempty"`
	// Timeline is the throughput over time.
	Timeline []Point `json:"timeline,omitempty"`

	// Spectrum is the whole latency distribution, for charts.
	Spectrum []Spectral `json:"-"`
}

// Figure is a measured value, with its name and unit in words.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Words is the figure with its name.
func (f Figure) Words() string {
	return fmt.Sprintf("%s: %s", f.Name, strings.TrimSpace(Number(f.Value)+" "+f.Unit))
}

// Figure returns a figure's value; ok is false for an unknown name.
func (r *Report) Figure(name string) (value float64, ok bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// Quantiles are points in a distribution.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Spectral is a point in a distribution: Percent of all operations took at most Micros.
type Spectral struct{ Percent, Micros float64 }

// Point is the work done in an interval.
type Point struct {
	// Seconds is the interval's end, measured from the start of the measurement.
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
}

// PerSecond returns a rate, 0 for zero seconds.
func PerSecond(n int64, seconds float64) float64 {
	if seconds <= 0 {
		return 0
	}
	return float64(n) / seconds
}

// AddEvents adds the number and the rate of events.
func (r *Report) AddEvents(n int64) {
	each := PerSecond(n, r.Seconds)
	r.Events, r.EventsPerSecond = &n, &each
}

// WriteJSON writes the report as a JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Parse reads the JSON printed by a load generator.
func Parse(printed []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(printed, &r); err != nil {
		return nil, fmt.Errorf("the load generator printed no report: %w: %.200q", err, printed)
	}
	return &r, nil
}
