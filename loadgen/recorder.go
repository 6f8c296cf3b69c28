package loadgen

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// The histograms distinguish times from a microsecond to an hour to one part in a hundred. Longer times count as an
// hour; the exact maximum is kept besides.
const (
	shortest = int64(time.Microsecond)
	longest  = int64(time.Hour)
	digits   = 2
)

// histogram is a distribution of times, with the exact longest time. A histogram serves one goroutine at a time.
type histogram struct {
	times *hdrhistogram.Histogram
	most  time.Duration
}

func newHistogram() histogram {
	return histogram{times: hdrhistogram.New(shortest, longest, digits)}
}

func (h *histogram) record(d time.Duration) {
	_ = h.times.RecordValue(min(max(int64(d), 0), longest)) // never out of range
	h.most = max(h.most, d)
}

func (h *histogram) merge(other *histogram) {
	h.times.Merge(other.times)
	h.most = max(h.most, other.most)
}

func (h *histogram) count() int64 { return h.times.TotalCount() }

// quantile returns the time not exceeded by the given percentage of times.
func (h *histogram) quantile(percent float64) time.Duration {
	return min(time.Duration(h.times.ValueAtPercentile(percent)), h.most)
}

// failures counts failed operations by status, with the first error of every status.
type failures struct {
	count map[string]int64
	first map[string]string
}

func newFailures() failures {
	return failures{count: make(map[string]int64), first: make(map[string]string)}
}

func (f *failures) add(status string, n int64, example string) {
	if n == 0 {
		return
	}
	f.count[status] += n
	if f.first[status] == "" {
		f.first[status] = example
	}
}

func (f *failures) merge(other *failures) {
	for status, n := range other.count {
		f.add(status, n, other.first[status])
	}
}

func (f *failures) total() int64 {
	total := int64(0)
	for _, n := range f.count {
		total += n
	}
	return total
}

// recorder gathers the outcomes of a caller, or of a few: no recorder is shared by all callers. The lock is needed
// because progress is read while the callers run.
type recorder struct {
	mu       sync.Mutex // guards the next fields
	done     histogram
	failures failures
	_        [64]byte // keeps neighbours in separate cache lines
}

// record counts an operation.
func (r *recorder) record(took time.Duration, err error) {
	r.mu.Lock()
	if err == nil {
		r.done.record(took)
	} else {
		r.failures.add(statusOf(err), 1, err.Error())
	}
	r.mu.Unlock()
}

// recorders are the recorders of all callers.
type recorders []*recorder

func newRecorders(callers int) recorders {
	all := make(recorders, min(max(callers, 1), maxRecorders))
	for i := range all {
		all[i] = &recorder{done: newHistogram(), failures: newFailures()}
	}
	return all
}

// of returns the recorder of a caller.
func (r recorders) of(caller int) *recorder { return r[caller%len(r)] }

// counts returns how many operations are done, and how many have failed, so far.
func (re recorders) counts() (done, failed int64) {
	for _, r := range re {
		r.mu.Lock()
		done += r.done.count()
		failed += r.failures.total()
		r.mu.Unlock()
	}
	return done, failed
}

// sum merges all recorders.
func (re recorders) sum() (histogram, failures) {
	h, f := newHistogram(), newFailures()
	for _, r := range re {
		r.mu.Lock()
		h.merge(&r.done)
		f.merge(&r.failures)
		r.mu.Unlock()
	}
	return h, f
}
