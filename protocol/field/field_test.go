package field

import (
	"testing"
	"time"
)

func TestTimesAreNeverSentShorter(t *testing.T) {
	for _, c := range []struct {
		of   time.Duration
		want uint64
	}{{0, 0}, {1, 1}, {time.Millisecond, 1}, {time.Millisecond + 1, 2}, {5 * time.Second, 5000}, {-time.Second, 0}} {
		if got := MillisOf(c.of); got != c.want {
			t.Errorf("%v is sent as %d ms, want %d", c.of, got, c.want)
		}
	}
}

// TestAClockBefore1970SaysNoTime, instead of a time half a billion years ahead.
func TestAClockBefore1970SaysNoTime(t *testing.T) {
	for _, c := range []struct {
		of   time.Time
		want uint64
	}{{time.Time{}, 0}, {time.UnixMilli(-1), 0}, {time.UnixMilli(0), 0}, {time.UnixMilli(1), 1}} {
		if _, got := (Timestamp{Wall: c.of}).Millis(); got != c.want {
			t.Errorf("%v is sent as %d ms, want %d", c.of, got, c.want)
		}
	}
}
