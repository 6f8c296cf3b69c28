package lifecycle

import (
	"sync/atomic"
	"time"
)

const (
	// lookEvery is the maximum interval between suspension checks, in CLOCK_MONOTONIC time.
	lookEvery = 100 * time.Millisecond
	// unlike is the largest wall clock shift relative to CLOCK_MONOTONIC that triggers no check, and the shortest
	// suspension that counts. Slow clock adjustments shift the wall clock by less.
	unlike = 5 * time.Millisecond
)

// Instant is a time on the client's own clock. Leases are computed only with this clock, never with a wall clock or
// another machine's clock.
type Instant time.Duration

// Add returns i plus d.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from u to t.
func (i Instant) Sub(u Instant) time.Duration { return time.Duration(i - u) }

// clock is CLOCK_BOOTTIME, the sum of CLOCK_MONOTONIC and the time of all suspensions: CLOCK_MONOTONIC stands still
// while the machine is suspended.
//
// Go reads CLOCK_BOOTTIME by a system call, which takes several times as long as reading the wall clock and
// CLOCK_MONOTONIC. So the clock reads CLOCK_BOOTTIME only if the wall clock has moved against CLOCK_MONOTONIC, as every
// suspension makes the wall clock do, or lookEvery has passed. A suspension is overlooked only if the wall clock is set
// back by the same time, and for lookEvery at the most.
type clock struct {
	epoch      time.Time
	suspension func() time.Duration // since the machine started

	before    time.Duration // the suspension at the epoch
	suspended atomic.Int64  // since the epoch; never decreases
	looked    atomic.Int64  // when the clock looked last, by CLOCK_MONOTONIC since the epoch
	apart     atomic.Int64  // wall clock minus CLOCK_MONOTONIC since the epoch, at that time
}

func (c *clock) init(suspension func() time.Duration) {
	c.epoch, c.suspension, c.before = time.Now(), suspension, suspension()
	c.apart.Store(c.epoch.UnixNano())
}

func (c *clock) now() Instant {
	now := time.Now()
	monotonic := now.Sub(c.epoch)
	apart := now.UnixNano() - int64(monotonic)
	moved := time.Duration(apart - c.apart.Load())
	if moved > unlike || moved < -unlike || monotonic > time.Duration(c.looked.Load())+lookEvery {
		c.look()
		c.looked.Store(int64(monotonic))
		c.apart.Store(apart)
	}
	return Instant(monotonic) + Instant(c.suspended.Load())
}

// look learns for how long the machine was suspended.
func (c *clock) look() {
	found := int64(c.suspension() - c.before)
	for known := c.suspended.Load(); found > known+int64(unlike); known = c.suspended.Load() {
		if c.suspended.CompareAndSwap(known, found) {
			return
		}
	}
}
