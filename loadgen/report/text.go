package report

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// WriteText writes the report for people.
func (r *Report) WriteText(w io.Writer) error {
	var b strings.Builder
	line := func(name, format string, args ...any) {
		fmt.Fprintf(&b, "%-22s %s\n", name, fmt.Sprintf(format, args...))
	}
	line("workload", "%s", r.Workload)
	if r.Command != "" {
		line("command", "%s", r.Command)
	}
	if !r.Started.IsZero() {
		line("started", "%s", r.Started.Format(time.RFC3339))
	}
	line("hosts", "%d", r.Hosts)
	line("callers", "%d over %s", r.Callers, count(r.Connections, "connection"))
	if r.Rate > 0 {
		line("rate", "%s operations a second were due", Number(r.Rate))
	}
	line("time", "%.1f s", r.Seconds)
	if r.LatencyUS != nil || len(r.Errors) > 0 {
		line("operations", "%s, %s a second", Number(float64(r.Operations)), Number(r.PerSecond))
	}
	for _, name := range slices.Sorted(maps.Keys(r.Parts)) {
		line("  "+name, "%s", Number(float64(r.Parts[name])))
	}
	if q := r.LatencyUS; q != nil {
		line("latency", "%s", q.text(1))
	}
	for _, name := range slices.Sorted(maps.Keys(r.StagesUS)) {
		line("  of "+name, "%s", r.StagesUS[name].text(1))
	}
	r.writeEvents(line)
	r.writeUsage(line)
	for _, status := range slices.Sorted(maps.Keys(r.Errors)) {
		line("error "+status, "%s, such as: %s", Number(float64(r.Errors[status])), r.ErrorExamples[status])
	}
	if len(r.Errors) == 0 {
		line("errors", "none")
	}
	for _, v := range r.Violations {
		line("CHECK FAILED", "%s", v)
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func (r *Report) writeEvents(line func(name, format string, args ...any)) {
	if r.Workers > 0 {
		line("workers", "%d", r.Workers)
	}
	if r.Watchers > 0 {
		line("watchers", "%d", r.Watchers)
	}
	if r.Updates != nil {
		line("changes", "%s, %s a second", Number(float64(*r.Updates)), Number(PerSecond(*r.Updates, r.Seconds)))
	}
	if r.Events != nil {
		line("events", "%s, %s a second", Number(float64(*r.Events)), Number(*r.EventsPerSecond))
	}
	if r.Merged != nil {
		line("merged", "%s", Number(float64(*r.Merged)))
	}
	if r.ConvergeMS != nil {
		line("all have seen it after", "%s", r.ConvergeMS.text(1000))
	}
	if r.BytesPerChangeAndConsumer != nil {
		line("bytes", "%.0f for each change and consumer", *r.BytesPerChangeAndConsumer)
	}
}

func (r *Report) writeUsage(line func(name, format string, args ...any)) {
	if r.Sessions > 0 {
		line("sessions", "%d", r.Sessions)
	}
	if r.ServerCPUSeconds != nil {
		line("server CPU", "%.2f s, %.1f %% of a core",
			*r.ServerCPUSeconds, 100*(*r.ServerCPUSeconds)/max(r.Seconds, 1e-9))
	}
	if r.LoadCPUSeconds != nil {
		line("load generator CPU", "%.2f s, %.1f %% of a core",
			*r.LoadCPUSeconds, 100*(*r.LoadCPUSeconds)/max(r.Seconds, 1e-9))
	}
	if r.ServerRSSBytes != nil {
		line("server memory", "%s, of it heap %s", Size(float64(*r.ServerRSSBytes)), Size(float64(*r.ServerHeapBytes)))
	}
	if r.BytesPerSession != nil {
		line("memory per session", "%s of heap, %s in all", Size(*r.BytesPerSession), Size(*r.RSSBytesPerSession))
	}
}

// text writes the points in a fitting unit; micros is how many microseconds the points' unit has.
func (q *Quantiles) text(micros float64) string {
	var parts []string
	for _, p := range []struct {
		name string
		v    float64
	}{{"p50", q.P50}, {"p90", q.P90}, {"p99", q.P99}, {"p99.9", q.P999}, {"max", q.Max}} {
		parts = append(parts, p.name+" "+Duration(p.v*micros))
	}
	return strings.Join(parts, "   ")
}

// Duration writes microseconds for people.
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

// Number writes a number with its thousands apart.
func Number(n float64) string {
	if n < 100 && n != float64(int64(n)) {
		return fmt.Sprintf("%.1f", n)
	}
	return Thousands(fmt.Sprintf("%.0f", n))
}

// Thousands sets the thousands of digits apart.
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

// Size writes bytes for people.
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
