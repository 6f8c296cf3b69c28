package lease

import (
	"math"
	"time"
)

// StallDetector notices that the goroutine which ticks it was standing still: stopped, starved of processor time, or
// stuck in a system call. A Table has one, ticked by Due. What reads connections and can stall by itself is their
// holders' Reader.
//
// It is ticked from one goroutine.
type StallDetector struct {
	limit   time.Duration
	last    instant
	started bool
}

// NewStallDetector returns a detector that calls it a stall when two ticks are more than limit apart.
func NewStallDetector(limit time.Duration) *StallDetector { return &StallDetector{limit: limit} }

// Tick says that the ticker is running, and returns whether it was standing still since the last tick.
// The first tick never is a stall.
func (d *StallDetector) Tick(now time.Time) (stalled bool) {
	_, stalled = d.tick(instantOf(now))
	return stalled
}

// tick also returns since when it was standing still.
func (d *StallDetector) tick(now instant) (from instant, stalled bool) {
	from, stalled = d.last, d.started && now > d.last.plus(d.limit)
	d.last, d.started = now, true
	return from, stalled
}

// missed is how much time a session gets for a standstill of that length: all of it, and a share for reading
// what came meanwhile.
func missed(standstill time.Duration) time.Duration {
	return standstill + min(standstill/catchUpShare, maxCatchUp)
}

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
