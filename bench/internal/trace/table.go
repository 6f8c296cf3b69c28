package trace

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"text/tabwriter"
	"time"
)

// Operation is what the operations of one kind came to.
type Operation struct {
	Name  string
	Spans int // how many there were
	// Whole is the time of those that were followed, each hop that of one part of them, by the point at its end.
	Whole []time.Duration
	Hops  [Points][]time.Duration
}

// Follow finds the stamps of each span. A span in which something else went on as well, such as a ping, has stamps that
// are not its own: it is counted and not followed.
func Follow(name string, spans []Span, stamps []Stamp) *Operation {
	o := &Operation{Name: name, Spans: len(spans)}
	sorted := slices.SortedFunc(slices.Values(stamps), func(a, b Stamp) int { return cmp.Compare(a.Nanos, b.Nanos) })
	for _, s := range spans {
		from, _ := slices.BinarySearchFunc(sorted, s.From, byTime)
		to, _ := slices.BinarySearchFunc(sorted, s.To, byTime)
		o.follow(s, sorted[from:to])
	}
	return o
}

func byTime(s Stamp, nanos int64) int { return cmp.Compare(s.Nanos, nanos) }

// follow adds one operation, if it has each point once, in their order.
func (o *Operation) follow(s Span, stamps []Stamp) {
	if len(stamps) != int(Returned-Sending) {
		return
	}
	for i, stamp := range stamps {
		if stamp.Point != Sending+Point(i) {
			return
		}
	}
	last := s.From
	for _, stamp := range append(slices.Clone(stamps), Stamp{Returned, s.To}) {
		o.Hops[stamp.Point] = append(o.Hops[stamp.Point], time.Duration(stamp.Nanos-last))
		last = stamp.Nanos
	}
	o.Whole = append(o.Whole, time.Duration(s.To-s.From))
}

// Write writes a table of what each hop took, in microseconds. The medians of the hops need not add up to the median of
// the whole.
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
		for p := Sending; p < Points; p++ {
			row(columns, o.Hops[p], hops[p])
		}
		row(columns, o.Whole, "the whole call")
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
