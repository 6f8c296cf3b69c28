package lease

import (
	"math"
	"time"
)

// StallDetector notices that the goroutine of its ticks was standing still: stopped, starved of processor time, or
// stuck in a system call. A Table has a detector, ticked by Due. The goroutines that read connections can stall by
// themselves; they are the Readers of their holders.
//
// A single goroutine ticks the detector.
type StallDetector struct {
	limit   time.Duration
	last    instant
	started bool
}

// NewStallDetector returns a detector that takes two ticks more than limit apart for a stall.
func NewStallDetector(limit time.Duration) *StallDetector { return &StallDetector{limit: limit} }

// Tick notes that the ticker is running, and returns whether it was standing still since the last tick. The first
// tick never is a stall.
func (d *StallDetector) Tick(now time.Time) (stalled bool) {
	_, stalled = d.tick(instantOf(now))
	return stalled
}

// tick also returns the beginning of the standstill.
func (d *StallDetector) tick(now instant) (from instant, stalled bool) {
	from, stalled = d.last, d.started && now > d.last.plus(d.limit)
	d.last, d.started = now, true
	return from, stalled
}

// missed is how much time a session gets for a standstill of some length: all of it, and a share for reading the
// frames from the meantime.
func missed(standstill time.Duration) time.Duration {
	return standstill + min(standstill/catchUpShare, maxCatchUp)
}

// instant is a moment on this process's monotonic clock, small enough to be kept by the hundred thousand and to be
// stored atomically.
type instant int64

const (
	longAgo instant = math.MinInt64
	never   instant = math.MaxInt64
)

// origin is the zero of all instants. Subtracting origin keeps to the monotonic readings.
var origin = time.Now()

func instantOf(now time.Time) instant { return instant(now.Sub(origin)) }

func (i instant) plus(d time.Duration) instant { return i + instant(d) }
