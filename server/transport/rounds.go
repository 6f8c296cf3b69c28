package transport

import (
	"sync/atomic"
	"time"
)

const (
	// roundEvery is the interval at which an event loop is asked to run a round.
	roundEvery = 200 * time.Millisecond
	// roundMissed is the minimum time between two rounds that counts as an event loop stall.
	roundMissed = 3 * roundEvery
)

// Rounds records when an event loop last ran a round: at that time the loop was not stuck, and had read all bytes its
// connections had received before. A connection on an event loop has a method Rounds. Safe for concurrent use.
type Rounds struct {
	last  atomic.Int64 // nanoseconds since epoch
	stood atomic.Int64 // total stall time in nanoseconds
}

// epoch is the zero time for rounds, on the monotonic clock.
var epoch = time.Now()

// came records that the loop is running, on the loop.
func (r *Rounds) came(now time.Time) {
	at := int64(now.Sub(epoch))
	if last := r.last.Load(); last != 0 && at-last > int64(roundMissed) {
		r.stood.Add(at - last)
	}
	r.last.Store(at)
}

// begin records, on the loop, that the loop is running, for the first connection after a time without connections:
// the preceding gap is not a stall.
func (r *Rounds) begin(now time.Time) { r.last.Store(int64(now.Sub(epoch))) }

// Latest returns when the loop last ran a round, and its total stall time by then.
func (r *Rounds) Latest() (last time.Time, stood time.Duration) {
	// The order matters: a caller that sees the round after a stall also sees the stall.
	at := r.last.Load()
	return epoch.Add(time.Duration(at)), time.Duration(r.stood.Load())
}
