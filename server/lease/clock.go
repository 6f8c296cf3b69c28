package lease

import (
	"math"
	"time"
)

// StallDetector detects that the goroutine that ticks it was stalled: stopped, starved of processor time, or stuck in
// a system call. A Table has a detector, ticked by Due. Goroutines that read connections can stall independently;
// they are the Readers in their holders.
//
// A single goroutine ticks the detector.
type StallDetector struct {
	limit   time.Duration
	last    instant
	started bool
}

// NewStallDetector returns a detector that reports a stall if two ticks are more than limit apart.
func NewStallDetector(limit time.Duration) *StallDetector { return &StallDetector{limit: limit} }

// Tick records that the ticker is running, and returns whether it has stalled since the last tick. The first tick is
// never a stall.
func (d *StallDetector) Tick(now time.Time) (stalled bool) {
	_, stalled = d.tick(instantOf(now))
	return stalled
}

// tick also returns when the stall began.
func (d *StallDetector) tick(now instant) (from instant, stalled bool) {
	from, stalled = d.last, d.started && now > d.last.plus(d.limit)
	d.last, d.started = now, true
	return from, stalled
}

// missed returns the time a session gets for a stall: its full length, and a share for reading the frames that
// arrived meanwhile.
func missed(standstill time.Duration) time.Duration {
	return standstill + min(standstill/catchUpShare, maxCatchUp)
}

// instant is a time on the process's monotonic clock, compact enough to store hundreds of thousands of values, and to
// store a value atomically.
type instant int64

const (
	longAgo instant = math.MinInt64
	never   instant = math.MaxInt64
)

// origin is the zero instant. Subtracting origin uses the monotonic readings.
var origin = time.Now()

func instantOf(now time.Time) instant { return instant(now.Sub(origin)) }

func (i instant) plus(d time.Duration) instant { return i + instant(d) }
