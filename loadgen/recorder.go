package loadgen

import (
	"sync"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"
)

// Histograms cover times from a microsecond to an hour with a resolution of one percent. Longer times count as an
// hour; the exact maximum is stored separately.
const (
	shortest = int64(time.Microsecond)
	longest  = int64(time.Hour)
	digits   = 2
)

// histogram is a distribution of durations, with the exact maximum. Used by one goroutine at a time.
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

// quantile returns the duration that the given percentage of durations does not exceed.
func (h *histogram) quantile(percent float64) time.Duration {
	return min(time.Duration(h.times.ValueAtPercentile(percent)), h.most)
}

// failures counts failed operations by status, with the first error for every status.
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

// recorder collects results from one or a few callers: no recorder is shared by all callers. The lock is needed
// because progress is read while the callers run.
type recorder struct {
	mu       sync.Mutex // guards the fields below
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

// recorders are all callers' recorders.
type recorders []*recorder

func newRecorders(callers int) recorders {
	all := make(recorders, min(max(callers, 1), maxRecorders))
	for i := range all {
		all[i] = &recorder{done: newHistogram(), failures: newFailures()}
	}
	return all
}

// of returns a caller's recorder.
func (r recorders) of(caller int) *recorder { return r[caller%len(r)] }

// counts returns how many operations are done, and how many have failed.
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
