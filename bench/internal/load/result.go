// Package load is the closed loop that drives a peer, and the result that all load generators of a
// race give in the same form.
package load

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Result is what one run of one workload came to: the object that loadgen prints as JSON, and that the
// drivers of the peers print as well.
type Result struct {
	Workload    string  `json:"workload"`
	Hosts       int     `json:"hosts"`
	Callers     int     `json:"callers"`
	Connections int     `json:"connections"`
	Seconds     float64 `json:"seconds"`
	Operations  int64   `json:"operations"`
	Errors      Errors  `json:"errors,omitempty"`
	PerSecond   float64 `json:"per_second"`
	LatencyUS   Latency `json:"latency_us"`

	// Of workloads that watch.
	Events          int64   `json:"events,omitempty"`
	EventsPerSecond float64 `json:"events_per_second,omitempty"`

	// Of loadgen alone; its package says what they are.
	Merged                    *int64   `json:"merged,omitempty"`
	ConvergeMS                *Latency `json:"converge_ms,omitempty"`
	BytesPerChangeAndConsumer *float64 `json:"bytes_per_change_and_consumer,omitempty"`
	ServerRSSBytes            *int64   `json:"server_rss_bytes,omitempty"`
	ServerHeapBytes           *int64   `json:"server_heap_bytes,omitempty"`
	ServerCPUSeconds          *float64 `json:"server_cpu_seconds,omitempty"`
	BytesPerSession           *float64 `json:"bytes_per_session,omitempty"`
	RSSBytesPerSession        *float64 `json:"rss_bytes_per_session,omitempty"`
}

// Latency is how long something took: operations, in microseconds, and convergence, in milliseconds.
type Latency struct {
	P50  float64 `json:"p50"`
	P90  float64 `json:"p90"`
	P99  float64 `json:"p99"`
	P999 float64 `json:"p999"`
	Max  float64 `json:"max"`
}

// Errors counts failed operations by what they failed with.
type Errors map[string]int64

// Total is how many operations failed.
func (e Errors) Total() (n int64) {
	for _, count := range e {
		n += count
	}
	return n
}

// String lists the errors, for people.
func (e Errors) String() string {
	var parts []string
	for _, what := range slices.Sorted(maps.Keys(e)) {
		parts = append(parts, fmt.Sprintf("%d x %s", e[what], what))
	}
	return strings.Join(parts, ", ")
}

// ParseResult reads the last JSON object that a load generator printed.
func ParseResult(printed []byte) (Result, error) {
	var r Result
	if err := json.Unmarshal(printed, &r); err != nil {
		return r, fmt.Errorf("the load generator printed no result: %w: %.200q", err, printed)
	}
	return r, nil
}
