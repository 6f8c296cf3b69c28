package report

import (
	_ "embed"
	"fmt"
	"html/template"
	"io"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/signalbox/signalbox/gateway/http/console"
)

// pageText is the page template.
//
//go:embed page.html
var pageText string

var pageTemplate = template.Must(template.New("report").Parse(pageText))

// WriteHTML writes the report as a self-contained page with charts.
func (r *Report) WriteHTML(w io.Writer) error {
	var text strings.Builder
	if err := r.WriteText(&text); err != nil {
		return err
	}
	var charts []chart
	if len(r.Timeline) > 1 {
		charts = append(charts, r.throughputChart())
	}
	if len(r.Spectrum) > 1 {
		charts = append(charts, r.latencyChart())
	}
	return pageTemplate.Execute(w, map[string]any{
		"Title": r.Workload, "Command": r.Command, "Started": r.Started, "Text": text.String(), "Charts": charts,
		"Latency": r.latencyTable(), "Palette": template.CSS(console.Palette()),
	})
}

// latencyRow is an operation's latency, in the page's form.
type latencyRow struct{ Name, P50, P90, P99, P999, Max string }

// latencyTable returns the whole operation's latency first, and then the latencies of its parts.
func (r *Report) latencyTable() (rows []latencyRow) {
	add := func(name string, q *Quantiles) {
		rows = append(rows, latencyRow{name, Duration(q.P50), Duration(q.P90), Duration(q.P99), Duration(q.P999),
			Duration(q.Max)})
	}
	if r.LatencyUS != nil {
		add("all", r.LatencyUS)
	}
	for _, name := range slices.Sorted(maps.Keys(r.StagesUS)) {
		add(name, r.StagesUS[name])
	}
	return rows
}

// Sizes for a chart and its margins. The margins have space for labels: numbers up to hundreds of millions on the
// left, and half a percentage with many nines on the right.
const (
	chartWidth, chartHeight = 860, 300
	left, right             = 100, 50
	top, bottom             = 20, 40
)

// chart is a line with two axes, in picture coordinates.
type chart struct {
	Title         string
	Width, Height int
	Line          string // polyline points
	Rows, Columns []gridLine
	Left, Right   int
	Top, Bottom   int
}

// gridLine is a grid line with its label.
type gridLine struct {
	At   float64
	Text string
}

func newChart(title string) chart {
	return chart{
		Title: title, Width: chartWidth, Height: chartHeight,
		Left: left, Right: chartWidth - right, Top: top, Bottom: chartHeight - bottom,
	}
}

// along and up convert a share of an axis to a coordinate.
func (c *chart) along(share float64) float64 {
	return float64(c.Left) + share*float64(c.Right-c.Left)
}

func (c *chart) up(share float64) float64 {
	return float64(c.Bottom) - share*float64(c.Bottom-c.Top)
}

func (c *chart) add(line *strings.Builder, x, y float64) {
	fmt.Fprintf(line, "%.1f,%.1f ", c.along(x), c.up(y))
}

// throughputChart shows the throughput over the run.
func (r *Report) throughputChart() chart {
	c := newChart("Operations a second, over time in seconds")
	end, most := r.Timeline[len(r.Timeline)-1].Seconds, 0.0
	for _, p := range r.Timeline {
		most = max(most, p.PerSecond)
	}
	scale := roundUp(most)
	var line strings.Builder
	for _, p := range r.Timeline {
		c.add(&line, p.Seconds/end, p.PerSecond/scale)
	}
	c.Line = line.String()
	for i := range 5 {
		share := float64(i) / 4
		c.Rows = append(c.Rows, gridLine{c.up(share), Number(share * scale)})
		c.Columns = append(c.Columns, gridLine{c.along(share), fmt.Sprintf("%.1f", share*end)})
	}
	return c
}

// latencyChart shows the whole distribution. Every column leaves a tenth of the previous column's operations to its
// right, and times grow tenfold from row to row.
func (r *Report) latencyChart() chart {
	c := newChart("Latency by percentile")
	low, high := math.Inf(1), 0.0
	for _, p := range r.Spectrum {
		low, high = min(low, max(p.Micros, 1)), max(high, p.Micros, 1)
	}
	first, last := math.Floor(math.Log10(low)), math.Ceil(math.Log10(high))
	if last == first {
		last++
	}
	nines := 1.0 // columns that the distribution reaches
	for _, p := range r.Spectrum {
		if p.Percent < 100 {
			nines = max(nines, math.Ceil(tail(p.Percent)))
		}
	}
	var line strings.Builder
	for _, p := range r.Spectrum {
		c.add(&line, min(tail(p.Percent)/nines, 1), (math.Log10(max(p.Micros, 1))-first)/(last-first))
	}
	c.Line = line.String()
	for decade := first; decade <= last; decade++ {
		c.Rows = append(c.Rows, gridLine{c.up((decade - first) / (last - first)), Duration(math.Pow(10, decade))})
	}
	for n := 0.0; n <= nines; n++ {
		percent := 100 * (1 - math.Pow(10, -n))
		c.Columns = append(c.Columns, gridLine{c.along(n / nines), fmt.Sprintf("%.*f %%", int(max(n-2, 0)), percent)})
	}
	return c
}

// tail returns the number of nines in a percentile: 2 for 99 %, 3 for 99.9 %.
func tail(percent float64) float64 {
	if percent >= 100 {
		return math.Inf(1)
	}
	return -math.Log10(1 - percent/100)
}

// roundUp returns a round number not below n: a single digit, or 1.5, or 2.5, times a power of ten.
func roundUp(n float64) float64 {
	if n <= 0 {
		return 1
	}
	unit := math.Pow(10, math.Floor(math.Log10(n)))
	for _, step := range []float64{1, 1.5, 2, 2.5, 3, 4, 5, 6, 8} {
		if n <= step*unit {
			return step * unit
		}
	}
	return 10 * unit
}
