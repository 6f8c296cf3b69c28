package auditlimit

import (
	"testing"
	"time"
)

// TestEntriesAreLimited: a source adds AtOnce entries in a burst, then one entry per Every.
func TestEntriesAreLimited(t *testing.T) {
	var l Limit
	now := time.Now()
	admitted := func() (n int) {
		for l.Admit(now) {
			n++
		}
		return n
	}
	for i, step := range []struct {
		after time.Duration
		want  int
	}{{0, AtOnce}, {Every - 1, 0}, {1, 1}, {3 * Every, 3}, {1000 * Every, AtOnce}} {
		now = now.Add(step.after)
		if got := admitted(); got != step.want {
			t.Errorf("step %d: %d entries are admitted, want %d", i, got, step.want)
		}
	}
}
