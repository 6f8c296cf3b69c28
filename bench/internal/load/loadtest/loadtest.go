// Package loadtest is for tests that run a workload for real.
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

// Some runs a workload until something was done in the time that is measured, for longer where the machine
// is slow, and returns the result of the last run. Errors, of a run or of operations, fail the test.
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
