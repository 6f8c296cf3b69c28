package load

import (
	"sync"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"
	"github.com/signalbox/signalbox/loadgen/report"
)

const (
	// slowest is the longest recorded latency; longer latencies count as this one.
	slowest = 5 * time.Minute
	// digits is a latency's precision.
	digits = 3
	// recorders share the callers, so that hundreds of callers need neither a lock nor separate histograms.
	recorders = 16
)

// recorder collects some callers' measurements.
type recorder struct {
	mu        sync.Mutex
	latencies *hdr.Histogram   // microseconds; guarded by mu
	errors    map[string]int64 // guarded by mu
}

func newRecorder() *recorder {
	return &recorder{
		latencies: hdr.New(1, slowest.Microseconds(), digits),
		errors:    make(map[string]int64),
	}
}

// record records one completed operation.
func (r *recorder) record(took time.Duration, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err != nil {
		r.errors[err.Error()]++
		return
	}
	// It cannot fail: the value is within the histogram's bounds.
	_ = r.latencies.RecordValue(min(max(took, time.Microsecond), slowest).Microseconds())
}

// summary merges all recorders.
func summary(all []*recorder) (operations int64, l *report.Quantiles, failed map[string]int64) {
	merged := newRecorder()
	for _, r := range all {
		r.mu.Lock()
		merged.latencies.Merge(r.latencies)
		for what, n := range r.errors {
			merged.errors[what] += n
		}
		r.mu.Unlock()
	}
	at := func(quantile float64) float64 { return float64(merged.latencies.ValueAtQuantile(quantile)) }
	l = &report.Quantiles{P50: at(50), P90: at(90), P99: at(99), P999: at(99.9), Max: float64(merged.latencies.Max())}
	return merged.latencies.TotalCount(), l, merged.errors
}
