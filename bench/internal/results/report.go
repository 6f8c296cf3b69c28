// Package results reports a race as text, JSON and a page with charts: the measurements, a comparison between
// contestants, the targets met, and the machine.
package results

import (
	"encoding/json"
	"io"
	"math"
	"slices"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// Report is a race.
type Report struct {
	Started  time.Time `json:"started"`
	Seconds  float64   `json:"seconds"`
	Machine  Machine   `json:"machine"`
	Versions []Version `json:"versions"`
	Settings Settings  `json:"settings"`
	// Command is how the race was started.
	Command []string `json:"command"`
	// Skipped contestants, and why.
	Skipped      []Skip        `json:"skipped"`
	Measurements []Measurement `json:"measurements"`
	Verdicts     []Verdict     `json:"targets"`
	// Ended is the reason why a race ended before its last round; empty for a complete race.
	Ended string `json:"ended,omitempty"`
}

// Version is a participating program's version.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Settings are the settings for all runs.
type Settings struct {
	Rounds        int     `json:"rounds"`
	WarmupSeconds float64 `json:"warmup_seconds"`
	// JavaWarmupSeconds is the warm-up time for Java servers.
	JavaWarmupSeconds float64 `json:"java_warmup_seconds"`
	DurationSeconds   float64 `json:"duration_seconds"`
	Connections       int     `json:"connections"`
	// SyncDelaySeconds is the extra time per file sync for all contestants, LinkDelaySeconds the extra time per message
	// between hosts. Both are absent in a race without added delays.
	SyncDelaySeconds float64 `json:"sync_delay_seconds,omitempty"`
	LinkDelaySeconds float64 `json:"link_delay_seconds,omitempty"`
}

// Skip is a contestant that did not take part.
type Skip struct {
	Contestant string `json:"contestant"`
	Why        string `json:"why"`
}

// Measurement is one contestant's result in one matrix cell, over all rounds.
type Measurement struct {
	Cell       string `json:"cell"`
	Hosts      int    `json:"hosts"`
	Contestant string `json:"contestant"`
	// Commands are the first round's command lines: the servers, and the load generator.
	Commands [][]string `json:"commands,omitempty"`
	Runs     []Run      `json:"runs"`

	// Summary over successful runs. Absent if every run failed.
	PerSecond *Spread `json:"per_second,omitempty"`
	P50US     *Spread `json:"p50_us,omitempty"`
	P99US     *Spread `json:"p99_us,omitempty"`
	// EventsPerSecond is set for watch workloads.
	EventsPerSecond *Spread `json:"events_per_second,omitempty"`
	// Figures are workload-specific figures, in the workload's order.
	Figures []FigureSpread `json:"figures,omitempty"`
}

// FigureSpread is a figure's spread over several rounds.
type FigureSpread struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// Run is one round in a measurement.
type Run struct {
	Round int `json:"round"`
	// Failed is the reason for a missing result.
	Failed string         `json:"failed,omitempty"`
	Result *report.Report `json:"result,omitempty"`
}

// Figure extracts one figure from a result; NaN if missing.
type Figure func(*report.Report) float64

// PerSecond is the operation rate; a workload with idle sessions has none.
func PerSecond(r *report.Report) float64 { return orNaN(r.PerSecond) }

// EventsPerSecond is the rate of events delivered to watchers.
func EventsPerSecond(r *report.Report) float64 { return given(r.EventsPerSecond) }

// Named extracts a workload's figure by name.
func Named(name string) Figure {
	return func(r *report.Report) float64 {
		if v, ok := r.Figure(name); ok {
			return v
		}
		return math.NaN()
	}
}

// MedianUS is the median latency.
func MedianUS(r *report.Report) float64 {
	if r.LatencyUS == nil {
		return math.NaN()
	}
	return orNaN(r.LatencyUS.P50)
}

// p99US is the 99th percentile latency.
func p99US(r *report.Report) float64 {
	if r.LatencyUS == nil {
		return math.NaN()
	}
	return orNaN(r.LatencyUS.P99)
}

func orNaN(v float64) float64 {
	if v == 0 {
		return math.NaN()
	}
	return v
}

// Rounds returns a figure for every round that has the figure.
func (m *Measurement) Rounds(f Figure) map[int]float64 {
	rounds := make(map[int]float64)
	for _, run := range m.Runs {
		if run.Result == nil {
			continue
		}
		if v := f(run.Result); !math.IsNaN(v) {
			rounds[run.Round] = v
		}
	}
	return rounds
}

// summarize fills in the summary over all runs.
func (m *Measurement) summarize() {
	of := func(f Figure) *Spread {
		rounds := m.Rounds(f)
		if len(rounds) == 0 {
			return nil
		}
		s := SpreadOf(values(rounds))
		return &s
	}
	m.PerSecond, m.EventsPerSecond = of(PerSecond), of(EventsPerSecond)
	m.P50US = of(MedianUS)
	m.P99US = of(p99US)
	m.Figures = m.figures()
}

// figures returns the figures from all runs. The first run with a figure decides the figure's position.
func (m *Measurement) figures() (all []FigureSpread) {
	for _, run := range m.Runs {
		if run.Result == nil {
			continue
		}
		for _, f := range run.Result.Figures {
			if slices.ContainsFunc(all, func(s FigureSpread) bool { return s.Name == f.Name }) {
				continue
			}
			all = append(all, FigureSpread{f.Name, f.Unit, SpreadOf(values(m.Rounds(Named(f.Name))))})
		}
	}
	return all
}

// Headline is the figure for comparisons between contestants: events if there are any.
func (m *Measurement) Headline() (s *Spread, f Figure, unit string) {
	if m.EventsPerSecond != nil {
		return m.EventsPerSecond, EventsPerSecond, "events/s"
	}
	return m.PerSecond, PerSecond, "/s"
}

// Find returns a measurement, or nil.
func (r *Report) Find(cell string, hosts int, contestant string) *Measurement {
	for i := range r.Measurements {
		if m := &r.Measurements[i]; m.Cell == cell && m.Hosts == hosts && m.Contestant == contestant {
			return m
		}
	}
	return nil
}

// Add adds a run to its measurement. The first run's commands are stored.
func (r *Report) Add(cell string, hosts int, contestant string, commands [][]string, run Run) {
	m := r.Find(cell, hosts, contestant)
	if m == nil {
		r.Measurements = append(r.Measurements, Measurement{
			Cell: cell, Hosts: hosts, Contestant: contestant, Commands: commands,
		})
		m = &r.Measurements[len(r.Measurements)-1]
	}
	m.Runs = append(m.Runs, run)
}

// Conclude computes all summaries and verdicts.
func (r *Report) Conclude() {
	for i := range r.Measurements {
		r.Measurements[i].summarize()
	}
	r.Verdicts = r.judge(r.targets())
}

func (r *Report) targets() []Target {
	switch {
	case r.Settings.LinkDelaySeconds > 0:
		return nil // none are set
	case r.Settings.SyncDelaySeconds > 0:
		return SlowDiskTargets()
	}
	return Targets()
}

// HeapPerSession is the server heap per idle session, in bytes.
func HeapPerSession(r *report.Report) float64 { return given(r.BytesPerSession) }

// RSSPerSession is the server memory per idle session in bytes, connection included.
func RSSPerSession(r *report.Report) float64 { return given(r.RSSBytesPerSession) }

// CorePercent is the server's CPU use, in percent of one core.
func CorePercent(r *report.Report) float64 { return 100 * given(r.ServerCPUSeconds) / orNaN(r.Seconds) }

// ConvergeMS is the 99th percentile time until every consumer had seen a change.
func ConvergeMS(r *report.Report) float64 {
	if r.ConvergeMS == nil {
		return math.NaN()
	}
	return r.ConvergeMS.P99
}

// BytesPerChange is the number of bytes per change and consumer.
func BytesPerChange(r *report.Report) float64 { return given(r.BytesPerChangeAndConsumer) }

func given(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

// JSON writes a report for programs, with every run's result.
func (r *Report) JSON(w io.Writer) error {
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(r)
}
