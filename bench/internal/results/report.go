// Package results reports a race: what was measured, how the contestants compare, which targets are met, and on what
// machine; as text, JSON and a page with charts.
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
	// Ended says why a race ended before its last round; empty for one that did not.
	Ended string `json:"ended,omitempty"`
}

// Version is that of something that took part.
type Version struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

// Settings are those of all runs.
type Settings struct {
	Rounds        int     `json:"rounds"`
	WarmupSeconds float64 `json:"warmup_seconds"`
	// JavaWarmupSeconds is the warm-up of servers in Java.
	JavaWarmupSeconds float64 `json:"java_warmup_seconds"`
	DurationSeconds   float64 `json:"duration_seconds"`
	Connections       int     `json:"connections"`
	// SyncDelaySeconds is how much longer each sync of a file took for all contestants, LinkDelaySeconds how long each
	// message between hosts took. Both are absent in a race on the machine as it is.
	SyncDelaySeconds float64 `json:"sync_delay_seconds,omitempty"`
	LinkDelaySeconds float64 `json:"link_delay_seconds,omitempty"`
}

// Skip is a contestant that did not take part.
type Skip struct {
	Contestant string `json:"contestant"`
	Why        string `json:"why"`
}

// Measurement is what one contestant did of one cell of the matrix, in all rounds.
type Measurement struct {
	Cell       string `json:"cell"`
	Hosts      int    `json:"hosts"`
	Contestant string `json:"contestant"`
	// Commands are those of the first round: the servers, and what drove them.
	Commands [][]string `json:"commands,omitempty"`
	Runs     []Run      `json:"runs"`

	// What the runs that did not fail come to. They are absent where every run failed.
	PerSecond *Spread `json:"per_second,omitempty"`
	P50US     *Spread `json:"p50_us,omitempty"`
	P99US     *Spread `json:"p99_us,omitempty"`
	// EventsPerSecond is of workloads that watch.
	EventsPerSecond *Spread `json:"events_per_second,omitempty"`
	// Figures are what only this workload has, in the order in which it reports them.
	Figures []FigureSpread `json:"figures,omitempty"`
}

// FigureSpread is what a figure came to in several rounds.
type FigureSpread struct {
	Name string `json:"name"`
	Unit string `json:"unit"`
	Spread
}

// Run is one round of a measurement.
type Run struct {
	Round int `json:"round"`
	// Failed says why there is no result.
	Failed string         `json:"failed,omitempty"`
	Result *report.Report `json:"result,omitempty"`
}

// Figure takes one figure of a result; NaN where it has none.
type Figure func(*report.Report) float64

// PerSecond is the rate of operations; what holds sessions and does nothing has none.
func PerSecond(r *report.Report) float64 { return orNaN(r.PerSecond) }

// EventsPerSecond is the rate of events that watchers were given.
func EventsPerSecond(r *report.Report) float64 { return given(r.EventsPerSecond) }

// Named is a figure of a workload of a name.
func Named(name string) Figure {
	return func(r *report.Report) float64 {
		if v, ok := r.Figure(name); ok {
			return v
		}
		return math.NaN()
	}
}

// MedianUS is the latency that half of the operations did not reach.
func MedianUS(r *report.Report) float64 {
	if r.LatencyUS == nil {
		return math.NaN()
	}
	return orNaN(r.LatencyUS.P50)
}

// p99US is the latency that one of a hundred operations reached.
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

// Rounds returns a figure of every round that has it.
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

// summarize fills in what the runs come to.
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

// figures returns the figures of all runs. The first run that has one says where it stands.
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

// Headline is the figure by which contestants are compared: events where there are any.
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

// Add adds a run to its measurement. The commands of a first run are kept.
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

// Conclude works out what all runs come to, and the targets.
func (r *Report) Conclude() {
	for i := range r.Measurements {
		r.Measurements[i].summarize()
	}
	r.Verdicts = r.judge(Targets())
}

// HeapPerSession is how many bytes of the server's heap one idle session takes.
func HeapPerSession(r *report.Report) float64 { return given(r.BytesPerSession) }

// RSSPerSession is how many bytes of the server's memory one idle session takes, its connection included.
func RSSPerSession(r *report.Report) float64 { return given(r.RSSBytesPerSession) }

// CorePercent is how much of one core the server used.
func CorePercent(r *report.Report) float64 { return 100 * given(r.ServerCPUSeconds) / orNaN(r.Seconds) }

// ConvergeMS is how long it took until every consumer had seen a change, all but one time in a hundred.
func ConvergeMS(r *report.Report) float64 {
	if r.ConvergeMS == nil {
		return math.NaN()
	}
	return r.ConvergeMS.P99
}

// BytesPerChange is how many bytes one change cost for one consumer.
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
