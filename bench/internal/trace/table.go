package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Operation is the result for one kind of operation.
type Operation struct {
	Name  string
	Hops  []Hop
	Spans int // number of operations
	// Whole has the time per traced operation, Parts the time per hop.
	Whole []time.Duration
	Parts [][]time.Duration
}

// Follow assigns stamps to each span. A span that overlaps with other work, such as a ping, contains foreign stamps,
// and is counted but not traced.
func Follow(name string, hops []Hop, spans []Span, stamps []Stamp) *Operation {
	o := &Operation{Name: name, Hops: hops, Spans: len(spans), Parts: make([][]time.Duration, len(hops))}
	var sorted []Stamp
	for _, s := range stamps {
		if slices.ContainsFunc(hops, func(h Hop) bool { return h.To == s.Point }) {
			sorted = append(sorted, s)
		}
	}
	slices.SortFunc(sorted, func(a, b Stamp) int { return cmp.Compare(a.Nanos, b.Nanos) })
	for _, s := range spans {
		from, _ := slices.BinarySearchFunc(sorted, s.From, byTime)
		to, _ := slices.BinarySearchFunc(sorted, s.To, byTime)
		o.follow(s, sorted[from:to])
	}
	return o
}

func byTime(s Stamp, nanos int64) int { return cmp.Compare(s.Nanos, nanos) }

// follow adds one operation, if each point occurs once and in order.
func (o *Operation) follow(s Span, stamps []Stamp) {
	ends := make([]int64, 0, len(o.Hops))
	taken := 0
	for _, hop := range o.Hops[:len(o.Hops)-1] { // the last hop ends with the span
		of := -1
		for i, stamp := range stamps {
			if stamp.Point == hop.To {
				if of >= 0 && !hop.Any {
					return // two of them
				}
				if of < 0 {
					of = i
				}
			}
		}
		if of < taken {
			return // the point is missing, or precedes the previous point
		}
		taken = of
		ends = append(ends, stamps[of].Nanos)
	}
	last := s.From
	for i, end := range append(ends, s.To) {
		o.Parts[i] = append(o.Parts[i], time.Duration(end-last))
		last = end
	}
	o.Whole = append(o.Whole, time.Duration(s.To-s.From))
}

// Write writes a table with the time for each hop, in microseconds. The hops' medians need not add up to the whole's
// median.
func Write(w io.Writer, operations ...*Operation) error {
	for _, o := range operations {
		_, err := fmt.Fprintf(w, "%s: %d of %d followed; microseconds\n", o.Name, len(o.Whole), o.Spans)
		if err != nil {
			return err
		}
		if len(o.Whole) == 0 {
			return fmt.Errorf("trace: no %s could be followed", o.Name)
		}
		columns := tabwriter.NewWriter(w, 0, 0, 2, ' ', tabwriter.AlignRight)
		fmt.Fprint(columns, "median\tp90\tp99\t  hop\n")
		for i, hop := range o.Hops {
			row(columns, o.Parts[i], hop.What)
		}
		row(columns, o.Whole, "the whole of it")
		fmt.Fprintln(columns)
		if err := columns.Flush(); err != nil {
			return err
		}
	}
	return nil
}

func row(w io.Writer, times []time.Duration, name string) {
	slices.Sort(times)
	at := func(share float64) float64 {
		return float64(times[min(int(share*float64(len(times))), len(times)-1)]) / float64(time.Microsecond)
	}
	fmt.Fprintf(w, "%.1f\t%.1f\t%.1f\t  %s\n", at(0.5), at(0.9), at(0.99), name)
}
