// Package clock is the time of a shard: milliseconds that only the log moves, and alarms that are set by it.
//
// Start with Clock. A leader stamps every batch with how long it has led (Stamp), and the machine adds that to what its
// clock said when the leader's term began. So time is the same in every replica, it stands still without a leader, and
// it never runs faster than the leaders' monotonic clocks.
//
// The package is pure: it reads no clock.
package clock

import "math"

// Stamp is what a leader writes on a batch.
type Stamp struct {
	// Term is the one that it leads. Zero: the batch has no stamp.
	Term uint64
	// Elapsed is how many milliseconds of its monotonic clock have passed since it applied the command that began its
	// term, and 0 until then. It is taken when the batch is proposed.
	Elapsed uint64
}

// Clock is the time of a shard. The zero value is that of a shard that nothing has led yet. It is kept, compared and
// restored as it is: Base is never above Now.
type Clock struct {
	Now  uint64 // milliseconds
	Base uint64 // what Now was when the term began
	Term uint64 // the highest that has begun
}

// Lead begins a term, and returns false where it is over. The same term may begin again, which changes nothing: its
// leader has been counting since the first time.
func (c *Clock) Lead(term uint64) bool {
	if term < c.Term {
		return false
	}
	if term > c.Term {
		c.Term, c.Base = term, c.Now
	}
	return true
}

// Advance moves the clock to when the batch was proposed, if that was by the leader of the term. A batch of another one
// says nothing: its leader counted from another moment.
func (c *Clock) Advance(s Stamp) {
	if s.Term == c.Term {
		c.Now = max(c.Now, c.At(s.Elapsed))
	}
}

// At returns the time at which the leader of the term has led for so long.
func (c *Clock) At(elapsed uint64) uint64 { return sum(c.Base, elapsed) }

// After returns when a delay that begins now is over. Stamps are whole milliseconds, rounded down: now may be almost
// one millisecond behind, so one is added, and the delay is never shorter than asked.
func (c *Clock) After(delay uint64) uint64 { return sum(sum(c.Now, delay), 1) }

// sum adds two times. One that is too large stays at the end of time.
func sum(a, b uint64) uint64 {
	if a > math.MaxUint64-b {
		return math.MaxUint64
	}
	return a + b
}

// Moment returns what rules write down for something that happens now: the first millisecond that begins after it. A
// delay is over at its moment plus the delay, and so is never shorter than asked, although the clock cuts off what is
// less than a millisecond.
func Moment(now uint64) uint64 { return now + 1 }

// Over reports whether a delay that began at a moment is over. A delay of 0 always is.
func Over(moment, delay, now uint64) bool { return delay == 0 || now >= moment+delay }
