package results

import (
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

// Text writes a report for people.
func (r *Report) Text(w io.Writer) error {
	t := &text{out: w}
	t.head(r)
	t.table("What was measured: the median of all rounds (least to most)", func() { t.measurements(r) })
	if slices.ContainsFunc(r.Measurements, func(m Measurement) bool { return len(m.Figures) > 0 }) {
		t.table("What only some workloads have", func() { t.figures(r) })
	}
	t.table("Targets", func() { t.verdicts(r) })
	t.failures(r)
	return t.err
}

// text writes until something fails.
type text struct {
	out io.Writer
	err error
}

func (t *text) printf(format string, args ...any) {
	if t.err == nil {
		_, t.err = fmt.Fprintf(t.out, format, args...)
	}
}

// table writes a heading, then content with aligned columns.
func (t *text) table(heading string, content func()) {
	t.printf("\n%s\n\n", heading)
	out := t.out
	columns := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	t.out = columns
	content()
	if err := columns.Flush(); t.err == nil {
		t.err = err
	}
	t.out = out
}

func (t *text) head(r *Report) {
	m := r.Machine
	t.printf("Race of %s, %s\n", r.Started.UTC().Format("2006-01-02 15:04 MST"), strings.Join(r.Command, " "))
	t.printf("%s; %d cores; %s GiB; %s; data on %s; %s\n",
		m.CPU, m.Cores, number(float64(m.MemoryBytes)/(1<<30)), m.Kernel, m.Filesystem, m.Go)
	for _, v := range r.Versions {
		t.printf("%s %s\n", v.Name, v.Version)
	}
	s := r.Settings
	const format = "rounds: %d, of %s s each after %s s of warming up (%s s for Java), " +
		"over %d connections; all of it took %v\n"
	t.printf(format,
		s.Rounds, number(s.DurationSeconds), number(s.WarmupSeconds), number(s.JavaWarmupSeconds), s.Connections,
		(time.Duration(r.Seconds * float64(time.Second))).Round(time.Second))
	if s.SyncDelaySeconds > 0 {
		t.printf("every sync of a file took %s ms longer, for all contestants\n", number(1000*s.SyncDelaySeconds))
	}
	if s.LinkDelaySeconds > 0 {
		t.printf("every message between hosts took %s ms in each direction, for all contestants; clients were beside "+
			"the hosts\n", number(1000*s.LinkDelaySeconds))
	}
	if m.SyncsNothing() {
		t.printf("WARNING: the data was in memory, where a sync costs nothing: these figures say nothing.\n")
	}
	for _, s := range r.Skipped {
		t.printf("%s was skipped: %s\n", s.Contestant, s.Why)
	}
	if r.Ended != "" {
		t.printf("It ended early: %s\n", r.Ended)
	}
}

func (t *text) measurements(r *Report) {
	t.printf("workload\thosts\twho\trate\tp50\tp99\tsignalbox is\n")
	for _, row := range r.rows() {
		for _, e := range row.Entries {
			t.printf("%s\t%d\t%s\t%s\t%s\t%s\t%s\n", row.Cell, row.Hosts, e.Contestant,
				e.Headline.words(row.Unit), e.P50US.duration(), e.P99US.duration(), e.Ratio.words())
		}
	}
}

func (t *text) figures(r *Report) {
	t.printf("workload\thosts\twho\twhat\tmedian (least to most)\n")
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for _, f := range m.Figures {
			t.printf("%s\t%d\t%s\t%s\t%s\n", m.Cell, m.Hosts, m.Contestant, f.Name, f.Words())
		}
	}
}

// Words writes a figure as "540 ms (510 - 600)".
func (f FigureSpread) Words() string { return f.words(f.Unit) }

// words writes a spread as "1,200/s (1,100 - 1,300)".
func (s *Spread) words(unit string) string {
	if s == nil {
		return "-"
	}
	if unit != "" && !strings.HasPrefix(unit, "/") {
		unit = " " + unit
	}
	return fmt.Sprintf("%s%s (%s - %s)", number(s.Median), unit, number(s.Min), number(s.Max))
}

// duration formats the median in microseconds.
func (s *Spread) duration() string {
	if s == nil {
		return "-"
	}
	return report.Duration(s.Median)
}

// words writes a ratio as "10.2x (9.8 - 11)".
func (r *Ratio) words() string {
	if r == nil {
		return ""
	}
	return fmt.Sprintf("%sx (%s - %s)", number(r.OfMedians), number(r.Low), number(r.High))
}

func (t *text) verdicts(r *Report) {
	t.printf("workload\thosts\ttarget\treached\t\n")
	for _, v := range r.Verdicts {
		t.printf("%s\t%d\t%s\t%s\t%s\n", v.Cell, v.Hosts, v.Want(), v.Value(), v.Outcome())
	}
}

// Value is the reached value in words.
func (v Verdict) Value() string {
	if v.Reached == nil {
		return "-"
	}
	return fmt.Sprintf("%s%s (%s - %s)", number(v.Reached.OfMedians), unitOf(v.Unit), number(v.Reached.Low),
		number(v.Reached.High))
}

func (t *text) failures(r *Report) {
	for i := range r.Measurements {
		m := &r.Measurements[i]
		for _, run := range m.Runs {
			switch {
			case run.Result == nil:
				t.printf("\nFAILED: %s, hosts %d, %s, round %d: %s\n",
					m.Cell, m.Hosts, m.Contestant, run.Round, run.Failed)
			case len(run.Result.Errors) > 0:
				t.printf("\nErrors: %s, hosts %d, %s, round %d: %v\n",
					m.Cell, m.Hosts, m.Contestant, run.Round, run.Result.Errors)
			}
		}
	}
}

// number formats a figure with three significant digits and thousands separators.
func number(v float64) string {
	switch size := math.Abs(v); {
	case math.IsNaN(v):
		return "-"
	case size >= 100:
		return report.Thousands(strconv.FormatFloat(v, 'f', 0, 64))
	case size >= 10:
		return trimmed(strconv.FormatFloat(v, 'f', 1, 64))
	}
	return trimmed(strconv.FormatFloat(v, 'f', 2, 64))
}

func trimmed(s string) string {
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

// unitOf adds a space before units that need one.
func unitOf(unit string) string {
	if unit == "x" || unit == "" {
		return unit
	}
	return " " + unit
}
