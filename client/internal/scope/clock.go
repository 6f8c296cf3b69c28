package scope

import (
	"sync/atomic"
	"time"
)

const (
	// lookEvery is how often the clock looks for a suspension at the latest, in the time of CLOCK_MONOTONIC.
	lookEvery = 100 * time.Millisecond
	// unlike is by how much the wall clock may differ from CLOCK_MONOTONIC since the latest look before the clock looks
	// again. It is also the shortest suspension that counts. Time that is adjusted slowly differs by less.
	unlike = 5 * time.Millisecond
)

// Instant is a moment of the client's own clock. Leases are computed with nothing else: no wall clock, and none of
// another machine.
type Instant time.Duration

// Add returns the moment that is d later.
func (i Instant) Add(d time.Duration) Instant { return i + Instant(d) }

// Sub returns the time from u to t.
func (i Instant) Sub(u Instant) time.Duration { return time.Duration(i - u) }

// clock is CLOCK_BOOTTIME, which goes on while the machine is suspended: CLOCK_MONOTONIC, which stands still meanwhile,
// and the time for which the machine was suspended.
//
// Go reads CLOCK_BOOTTIME by a system call, which takes several times as long as to read the other two clocks. So the
// clock looks at it only if the wall clock has moved against CLOCK_MONOTONIC, as it does by every suspension, or
// lookEvery has passed. A suspension is overlooked only if the wall clock is set back by just as much, and for lookEvery
// at the most.
type clock struct {
	epoch      time.Time
	suspension func() time.Duration // since the machine started

	before    time.Duration // the suspension at the epoch
	suspended atomic.Int64  // since the epoch; never decreases
	looked    atomic.Int64  // when the clock looked last, by CLOCK_MONOTONIC since the epoch
	apart     atomic.Int64  // the wall clock less CLOCK_MONOTONIC since the epoch, at that time
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
