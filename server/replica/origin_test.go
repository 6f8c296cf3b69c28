package replica

import (
	"testing"
	"time"
)

// TestAClockBefore1970IsNoTime: the audit log and the records show an unknown time, not one in the far future.
func TestAClockBefore1970IsNoTime(t *testing.T) {
	for _, c := range []struct {
		clock time.Time
		want  uint64
	}{{time.Unix(-1, 0), 0}, {time.UnixMilli(1234), 1234}} {
		s := &Set{Now: func() time.Time { return c.clock }}
		if got := s.Origin("host a", "").Wall; got != c.want {
			t.Errorf("at %v the time is %d, want %d", c.clock, got, c.want)
		}
	}
}
