package loadgen

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// newReport returns a drive's report.
func newReport(c *Config, l *load) *report.Report {
	r := &report.Report{
		Workload: c.Workload, Command: c.Command, Started: l.began.UTC().Truncate(time.Second), Hosts: c.Hosts,
		Callers: c.Callers, Connections: c.Connections, Rate: c.Rate, Seconds: l.seconds,
		Operations: l.latency.count(), Errors: l.failures.count, ErrorExamples: l.failures.first,
		LatencyUS: quantiles(&l.latency, time.Microsecond), Timeline: l.timeline, Spectrum: spectrum(&l.latency),
	}
	r.PerSecond = report.PerSecond(r.Operations, r.Seconds)
	return r
}

// quantiles returns nil for an empty histogram.
func quantiles(h *histogram, unit time.Duration) *report.Quantiles {
	if h.count() == 0 {
		return nil
	}
	in := func(d time.Duration) float64 { return math.Round(float64(d)/float64(unit)*1000) / 1000 }
	return &report.Quantiles{
		P50: in(h.quantile(50)), P90: in(h.quantile(90)), P99: in(h.quantile(99)), P999: in(h.quantile(99.9)),
		Max: in(h.most),
	}
}

func newMillis(h *histogram) *report.Quantiles { return quantiles(h, time.Millisecond) }

// spectrum takes points from the distribution, closer together towards the end: every step covers a quarter of the
// remaining operations.
func spectrum(h *histogram) []report.Spectral {
	if h.count() == 0 {
		return nil
	}
	var points []report.Spectral
	for above := 1.0; above*float64(h.count()) >= 0.5; above *= 0.75 {
		percent := 100 * (1 - above)
		points = append(points, report.Spectral{Percent: percent, Micros: micros(h.quantile(percent))})
	}
	return append(points, report.Spectral{Percent: 100, Micros: micros(h.most)})
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

func whole(bytes float64) *int64 {
	n := int64(bytes)
	return &n
}

// addUsage adds the hosts' usage to a report. Without gauges there is nothing to add.
func addUsage(r *report.Report, before, after usage) {
	if after == (usage{}) {
		return
	}
	cpu := after.cpu - before.cpu
	r.ServerCPUSeconds, r.ServerRSSBytes, r.ServerHeapBytes = &cpu, whole(after.resident), whole(after.heap)
}

// describe returns how often every status occurred, with an example.
func (f *failures) describe() string {
	var texts []string
	for _, status := range slices.Sorted(maps.Keys(f.count)) {
		texts = append(texts, fmt.Sprintf("%s %d times (%s)", status, f.count[status], f.first[status]))
	}
	return strings.Join(texts, ", ")
}
