package results

import (
	_ "embed"
	"html/template"
	"io"
	"strings"
)

// page is the HTML template.
//
//go:embed page.html
var page string

// The charts' measures, in pixels.
const (
	chartWidth = 720
	barLeft    = 110
	barRoom    = 420 // width for the longest bar
	barHeight  = 18
	barStep    = 26
)

var pageTemplate = template.Must(template.New("page").Funcs(template.FuncMap{
	"number": number,
	"line":   func(command []string) string { return strings.Join(command, " ") },
	"gib":    func(bytes uint64) string { return number(float64(bytes) / (1 << 30)) },
}).Parse(page))

// HTML writes a self-contained page with charts.
func (r *Report) HTML(w io.Writer) error {
	return pageTemplate.Execute(w, struct {
		*Report
		Charts []chart
	}{r, r.charts()})
}

// chart is the picture for one row. Each chart has its own scale: the longest bar fills the width.
type chart struct {
	Cell          string
	Hosts         int
	Width, Height int
	Bars          []bar
}

type bar struct {
	Contestant   string
	Top, Middle  int
	Left, Length float64
	Height       int
	// Least and Most are the ends of the whisker.
	Least, Most float64
	Label       string
	LabelLeft   float64
	Latency     string
}

func (r *Report) charts() []chart {
	var all []chart
	for _, row := range r.rows() {
		longest := 0.0
		for _, e := range row.Entries {
			if e.Headline != nil {
				longest = max(longest, e.Headline.Max)
			}
		}
		if longest == 0 {
			continue
		}
		c := chart{Cell: row.Cell, Hosts: row.Hosts, Width: chartWidth, Height: barStep * len(row.Entries)}
		for i, e := range row.Entries {
			c.Bars = append(c.Bars, e.bar(i, row.Unit, longest))
		}
		all = append(all, c)
	}
	return all
}

func (e entry) bar(i int, unit string, longest float64) bar {
	top := i * barStep
	b := bar{
		Contestant: e.Contestant, Top: top, Middle: top + barHeight/2, Left: barLeft, Height: barHeight,
		Label: "failed", LabelLeft: barLeft + 6,
	}
	if e.Headline == nil {
		return b
	}
	scale := func(v float64) float64 { return barRoom * v / longest }
	b.Length = scale(e.Headline.Median)
	b.Least, b.Most = barLeft+scale(e.Headline.Min), barLeft+scale(e.Headline.Max)
	b.LabelLeft = b.Most + 6
	b.Label = number(e.Headline.Median) + " " + unit
	if strings.HasPrefix(unit, "/") {
		b.Label = number(e.Headline.Median) + unit
	}
	if e.Ratio != nil {
		b.Label += ", " + number(e.Ratio.OfMedians) + "x"
	}
	b.Latency = "p50 " + e.P50US.duration() + ", p99 " + e.P99US.duration()
	return b
}
