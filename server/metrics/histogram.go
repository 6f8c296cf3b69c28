package metrics

import (
	"fmt"
	"io"
	"math/bits"
	"strconv"
	"sync/atomic"
)

// Histogram counts times in buckets of powers of two, from a microsecond to about a minute.
type Histogram struct {
	name, labels string
	buckets      [histogramBuckets + 1]atomic.Uint64
	nanos        atomic.Int64
}

const histogramBuckets = 26

// NewHistogram returns an empty histogram with a name; labels may be empty.
func NewHistogram(name, labels string) *Histogram { return &Histogram{name: name, labels: labels} }

// Observe counts a time.
func (h *Histogram) Observe(nanos int64) {
	nanos = max(nanos, 0)
	h.buckets[min(bits.Len64(uint64(nanos)/1000), histogramBuckets)].Add(1)
	h.nanos.Add(nanos)
}

// Write writes the series, in the text form of Prometheus; nothing for an empty histogram.
func (h *Histogram) Write(w io.Writer) {
	total := uint64(0)
	for i := range h.buckets {
		total += h.buckets[i].Load()
	}
	if total == 0 {
		return
	}
	comma, braces := "", ""
	if h.labels != "" {
		comma, braces = ",", "{"+h.labels+"}"
	}
	sum := uint64(0)
	for i := range histogramBuckets {
		sum += h.buckets[i].Load()
		le := strconv.FormatFloat(float64(uint64(1)<<i)/1e6, 'g', -1, 64)
		fmt.Fprintf(w, "%s_bucket{%s%sle=%q} %d\n", h.name, h.labels, comma, le, sum)
	}
	fmt.Fprintf(w, "%s_bucket{%s%sle=\"+Inf\"} %d\n", h.name, h.labels, comma, total)
	fmt.Fprintf(w, "%s_sum%s %g\n", h.name, braces, float64(h.nanos.Load())/1e9)
	fmt.Fprintf(w, "%s_count%s %d\n", h.name, braces, total)
}
