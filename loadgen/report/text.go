package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// WriteText writes the report as text.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	// line writes a line if there is something to show.
	line := func(shown bool, name, format string, args ...any) {
		if shown {
			fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
		}
	}
	line(true, "workload", "%s", r.Workload)
	line(r.Command != "", "command", "%s", r.Command)
	line(!r.Started.IsZero(), "started", "%s", r.Started.Format(time.RFC3339))
	line(true, "hosts", "%d", r.Hosts)
	line(true, "callers", "%d over %s", r.Callers, count(r.Connections, "connection"))
	line(r.Rate > 0, "rate", "%s operations a second were due", Number(r.Rate))
	line(true, "time", "%.1f s", r.Seconds)
	line(r.LatencyUS != nil || len(r.Errors) > 0, "operations", "%s, %s a second", Number(float64(r.Operations)),
		Number(r.PerSecond))
	for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
		line(true, "  "+name, "%s", Number(float64(r.Parts[name])))
	}
	line(r.LatencyUS != nil, "latency", "%s", at(r.LatencyUS).text(1))
	for _, name := range slices.Sorted(maps.Keys(r.StagesUS)) {
		line(true, "  of "+name, "%s", r.StagesUS[name].text(1))
	}
	r.writeEvents(line)
	r.writeUsage(line)
	for _, status := range slices.Sorted(maps.Keys(r.Errors)) {
		line(true, "error "+status, "%s, such as: %s", Number(float64(r.Errors[status])), r.ErrorExamples[status])
	}
	line(len(r.Errors) == 0, "errors", "none")
	for _, v := range r.Violations {
		line(true, "CHECK FAILED", "%s", v)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeEvents(line func(shown bool, name, format string, args ...any)) {
	line(r.Workers > 0, "workers", "%d", r.Workers)
	line(r.Watchers > 0, "watchers", "%d", r.Watchers)
	line(r.Updates != nil, "changes", "%s, %s a second", Number(float64(at(r.Updates))),
		Number(PerSecond(at(r.Updates), r.Seconds)))
	line(r.Events != nil, "events", "%s, %s a second", Number(float64(at(r.Events))), Number(at(r.EventsPerSecond)))
	line(r.Merged != nil, "merged", "%s", Number(float64(at(r.Merged))))
	line(r.ConvergeMS != nil, "all have seen it after", "%s", at(r.ConvergeMS).text(1000))
	line(r.BytesPerChangeAndConsumer != nil, "bytes", "%.0f for each change and consumer",
		at(r.BytesPerChangeAndConsumer))
}

func (r *Report) writeUsage(line func(shown bool, name, format string, args ...any)) {
	const cpu = "%.2f s, %.1f %% of a core"
	line(r.Sessions > 0, "sessions", "%d", r.Sessions)
	server, own := at(r.ServerCPUSeconds), at(r.LoadCPUSeconds)
	line(r.ServerCPUSeconds != nil, "server CPU", cpu, server, 100*server/max(r.Seconds, 1e-9))
	line(r.LoadCPUSeconds != nil, "load generator CPU", cpu, own, 100*own/max(r.Seconds, 1e-9))
	line(r.ServerRSSBytes != nil, "server memory", "%s, of it heap %s", Size(float64(at(r.ServerRSSBytes))),
		Size(float64(at(r.ServerHeapBytes))))
	line(r.BytesPerSession != nil, "memory per session", "%s of heap, %s in all", Size(at(r.BytesPerSession)),
		Size(at(r.RSSBytesPerSession)))
}

// at returns a measured value, zero if it was not measured.
func at[T any](p *T) (v T) {
	if p != nil {
		v = *p
	}
	return v
}

// text formats the points in a suitable unit; micros is the points' unit in microseconds.
func (q Quantiles) text(micros float64) string {
	var parts []string
	for _, p := range []struct {
		name string
		v    float64
	}{{"p50", q.P50}, {"p90", q.P90}, {"p99", q.P99}, {"p99.9", q.P999}, {"max", q.Max}} {
		parts = append(parts, p.name+" "+Duration(p.v*micros))
	}
	return strings.Join(parts, "   ")
}

// Duration formats microseconds.
func Duration(micros float64) string {
	switch {
	case micros < 1000:
		return fmt.Sprintf("%.0f us", micros)
	case micros < 10_000:
		return fmt.Sprintf("%.2f ms", micros/1000)
	case micros < 1_000_000:
		return fmt.Sprintf("%.0f ms", micros/1000)
	}
	return fmt.Sprintf("%.2f s", micros/1_000_000)
}

// Number formats a number with thousands separators.
func Number(n float64) string {
	if n < 100 && n != float64(int64(n)) {
		return fmt.Sprintf("%.1f", n)
	}
	return Thousands(fmt.Sprintf("%.0f", n))
}

// Thousands separates a digit string into groups of three.
func Thousands(digits string) string {
	for at := len(digits) - 3; at > 0 && digits[at-1] != '-'; at -= 3 {
		digits = digits[:at] + "," + digits[at:]
	}
	return digits
}

func count(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return Number(float64(n)) + " " + what + "s"
}

// Size formats a byte count.
func Size(bytes float64) string {
	switch {
	case bytes >= 1<<30 || bytes <= -(1<<30):
		return fmt.Sprintf("%.2f GiB", bytes/(1<<30))
	case bytes >= 1<<20 || bytes <= -(1<<20):
		return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
	case bytes >= 1<<10 || bytes <= -(1<<10):
		return fmt.Sprintf("%.1f KiB", bytes/(1<<10))
	}
	return fmt.Sprintf("%.0f bytes", bytes)
}
