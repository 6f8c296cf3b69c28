// Package report is the outcome of a run of load: one model, its form as JSON, as text and as a page with charts. The
// load generator and the drivers of other services write it alike.
package report

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// Report is the outcome of a run. Its form as JSON is stable: fields are added, none is renamed. What does not
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
	// StagesUS is the latency of each part of an operation, such as acquire and release, and of each operation of a
	// mix. It counts from the beginning of that part.
	StagesUS map[string]*Quantiles `json:"stages_us,omitempty"`

	// Events are views that watchers were sent; Updates the changes that brought them about; Merged how many
	// changes watchers were not shown by themselves, but together with a later one.
	Events          *int64   `json:"events,omitempty"`
	EventsPerSecond *float64 `json:"events_per_second,omitempty"`
	Updates         *int64   `json:"updates,omitempty"`
	Merged          *int64   `json:"merged,omitempty"`
	// ConvergeMS is how long it took from the request of a change until every watcher had seen it.
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
	// Figures are what only this workload has, in the order in which they are read.
	Figures []Figure `json:"figures,omitempty"`
	// Parts are the operations of each part of a mix.
	Parts map[string]int64 `json:"parts,omitempty"`

	// ErrorExamples has the text of the first error of each status, Violations what did not hold.
	ErrorExamples map[string]string `json:"error_examples,omitempty"`
	Violations    []string          `json:"violations,omitempty"`
	// Timeline is the course of the run.
	Timeline []Point `json:"timeline,omitempty"`

	// Spectrum is the whole distribution of latencies, for charts.
	Spectrum []Spectral `json:"-"`
}

// Figure is one thing that was measured, with its name and unit in words.
type Figure struct {
	Name  string  `json:"name"`
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// Words is the figure with its name.
func (f Figure) Words() string {
	return fmt.Sprintf("%s: %s", f.Name, strings.TrimSpace(Number(f.Value)+" "+f.Unit))
}

// Figure returns the value of a figure; ok is false where the report has none of that name.
func (r *Report) Figure(name string) (value float64, ok bool) {
	for _, f := range r.Figures {
		if f.Name == name {
			return f.Value, true
		}
	}
	return 0, false
}

// Quantiles are points of a distribution.
type Quantiles struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Spectral is a point of a distribution: so many percent took no longer than that.
type Spectral struct{ Percent, Micros float64 }

// Point is what was done in one interval of time.
type Point struct {
	// Seconds is the end of the interval, counted from the beginning of the measurement.
	Seconds   float64 `json:"seconds"`
	PerSecond float64 `json:"per_second"`
}

// PerSecond is a rate, 0 where there was no time.
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

// WriteJSON writes the report as one JSON object.
func (r *Report) WriteJSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	e.SetEscapeHTML(false)
	return e.Encode(r)
}

// Parse reads the JSON that a load generator printed.
func Parse(printed []byte) (*Report, error) {
	var r Report
	if err := json.Unmarshal(printed, &r); err != nil {
		return nil, fmt.Errorf("the load generator printed no report: %w: %.200q", err, printed)
	}
	return &r, nil
}
