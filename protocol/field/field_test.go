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
