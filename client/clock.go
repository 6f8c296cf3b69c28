package client

import "time"

// instant is a moment of the client's own monotonic clock. Leases are computed with nothing else: no wall
// clock, and none of another machine.
type instant time.Duration

// clock counts from the moment at which the client was opened.
type clock struct{ epoch time.Time }

func newClock() clock { return clock{epoch: time.Now()} }

func (c clock) now() instant { return instant(time.Since(c.epoch)) }

func (t instant) add(d time.Duration) instant { return t + instant(d) }

func (t instant) sub(u instant) time.Duration { return time.Duration(t - u) }
