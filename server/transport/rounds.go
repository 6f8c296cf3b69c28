package transport

import (
	"sync/atomic"
	"time"
)

const (
	// roundEvery is how often an event loop is asked to come round.
	roundEvery = 200 * time.Millisecond
	// roundMissed is the least distance between two rounds that counts as a standstill of the event loop.
	roundMissed = 3 * roundEvery
)

// Rounds says when an event loop last came round: the loop was not stuck then, and had read the bytes sent by its
// connections before. A connection on an event loop has a method Rounds. All goroutines may ask.
type Rounds struct {
	last  atomic.Int64 // nanoseconds since epoch
	stood atomic.Int64 // nanoseconds, all standstills together
}

// epoch is the time from which rounds are counted, by the monotonic clock.
var epoch = time.Now()

// came records that the loop is running, on the loop.
func (r *Rounds) came(now time.Time) {
	at := int64(now.Sub(epoch))
	if last := r.last.Load(); last != 0 && at-last > int64(roundMissed) {
		r.stood.Add(at - last)
	}
	r.last.Store(at)
}

// begin records that the loop is running, on the loop, for the first connection after a time without connections: the
// gap before is no standstill.
func (r *Rounds) begin(now time.Time) { r.last.Store(int64(now.Sub(epoch))) }

// Latest returns when the loop last came round, and for how long it had stood still by then, all standstills
// together.
func (r *Rounds) Latest() (last time.Time, stood time.Duration) {
	// The order matters: a caller that sees the round after a standstill sees the standstill too.
	at := r.last.Load()
	return epoch.Add(time.Duration(at)), time.Duration(r.stood.Load())
}
