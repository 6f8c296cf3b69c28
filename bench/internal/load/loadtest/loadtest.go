// Package loadtest is for tests that run a real workload.
package loadtest

import (
	"testing"
	"time"

	"github.com/signalbox/signalbox/loadgen/report"
)

const (
	shortest = 300 * time.Millisecond
	longest  = time.Minute
)

// Some runs a workload until the measured time contains operations, longer on a slow machine, and returns the last
// run's result. Errors from runs or operations fail the test.
func Some(t *testing.T, run func(time.Duration) (*report.Report, error)) *report.Report {
	t.Helper()
	for d := shortest; ; d *= 4 {
		r, err := run(d)
		if err != nil {
			t.Fatal(err)
		}
		if len(r.Errors) > 0 {
			t.Fatalf("operations failed: %v", r.Errors)
		}
		if r.Operations > 0 {
			return r
		}
		if d > longest {
			t.Fatalf("nothing was done in %v", d)
		}
	}
}
