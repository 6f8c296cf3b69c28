package lease

import (
	"math"
	"time"
)

// instant is a moment on this process's monotonic clock, small enough to be kept by the hundred
// thousand and to be stored atomically.
type instant int64

const (
	longAgo instant = math.MinInt64
	never   instant = math.MaxInt64
)

// origin is the zero of all instants. Subtracting it keeps to the monotonic readings.
var origin = time.Now()

func instantOf(now time.Time) instant { return instant(now.Sub(origin)) }

func (i instant) plus(d time.Duration) instant { return i + instant(d) }
