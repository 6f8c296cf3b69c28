package transport

import (
	"sync/atomic"
	"time"
)

const (
	// roundEvery is how often an event loop is asked to come round.
	roundEvery = 200 * time.Millisecond
	// roundMissed is how far apart two rounds are at the least that an event loop stood still between.
	roundMissed = 3 * roundEvery
)

// Rounds says when an event loop last came round: that it is not stuck, and has read what its connections
// had sent by then. A connection on such a loop has a method Rounds. Any goroutine may ask.
type Rounds struct {
	last  atomic.Int64 // nanoseconds since epoch
	stood atomic.Int64 // nanoseconds, all standstills together
}

// epoch is what rounds are counted from, by the monotonic clock.
var epoch = time.Now()

// came says that the loop is running, on the loop.
func (r *Rounds) came(now time.Time) {
	at := int64(now.Sub(epoch))
	if last := r.last.Load(); last != 0 && at-last > int64(roundMissed) {
		r.stood.Add(at - last)
	}
	r.last.Store(at)
}

// begin says that the loop is running, on the loop, where it had no connection before: a gap before
// the first connection is no standstill.
func (r *Rounds) begin(now time.Time) { r.last.Store(int64(now.Sub(epoch))) }

// Latest returns when the loop last came round, and for how long it had stood still by then, all standstills
// together.
func (r *Rounds) Latest() (last time.Time, stood time.Duration) {
	// In this order: who sees the round after a standstill sees the standstill too.
	at := r.last.Load()
	return epoch.Add(time.Duration(at)), time.Duration(r.stood.Load())
}
