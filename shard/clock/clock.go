// Package clock is shard time: milliseconds that only log entries advance.
//
// Start with Clock. A leader stamps every batch with the time since the beginning of its leadership (Stamp), and the
// machine adds the stamp to the shard's time at the beginning of the leader's term. So time is the same in every
// replica, stands still without a leader, and never runs faster than the leaders' monotonic clocks.
//
// The package is pure: it reads no clock.
package clock

import "math"

// Stamp is the stamp of a leader on a batch.
type Stamp struct {
	// Term is the term of the leader, or zero for a batch without a stamp.
	Term uint64
	// Elapsed is the time in milliseconds, by the leader's monotonic clock, since the leader applied the command that
	// began its term, and 0 until then. The time is taken when the batch is proposed.
	Elapsed uint64
}

// Clock is the time of a shard. The zero value is the clock of a shard before its first leader. A clock is saved,
// compared and restored as a plain value: Base is never above Now.
type Clock struct {
	Now  uint64 // milliseconds
	Base uint64 // the value of Now at the beginning of the term
	Term uint64 // the highest term that has begun
}

// Lead begins a term, and returns false for a term that is over. Beginning the present term again changes nothing,
// because its leader has been counting since the first time.
func (c *Clock) Lead(term uint64) bool {
	if term < c.Term {
		return false
	}
	if term > c.Term {
		c.Term, c.Base = term, c.Now
	}
	return true
}

// Advance moves the clock to the time of the batch's proposal, if the batch is from the leader of the present term. A
// batch of any other leader moves nothing, because the leader counted from a different moment.
func (c *Clock) Advance(s Stamp) {
	if s.Term == c.Term {
		c.Now = max(c.Now, c.At(s.Elapsed))
	}
}

// At returns the time at which the leader of the term has led for so long. A time that is too large stays at the end of
// time.
func (c *Clock) At(elapsed uint64) uint64 { return c.Base + min(elapsed, math.MaxUint64-c.Base) }

// After returns the time at the end of a delay that begins now. Stamps are whole milliseconds, rounded down: now may
// be almost one millisecond behind, so After adds one, and the delay is never shorter than asked.
func (c *Clock) After(delay uint64) uint64 {
	over := c.Now + min(delay, math.MaxUint64-c.Now)
	return over + min(1, math.MaxUint64-over)
}

// Moment returns the time that rules write down for an event at the time now: the beginning of the next millisecond.
// A delay is over at its moment plus the delay, and so is never shorter than asked, although the clock cuts off
// fractions of a millisecond.
func Moment(now uint64) uint64 { return now + 1 }

// Over reports whether a delay that began at a moment is over. A delay of 0 always is.
func Over(moment, delay, now uint64) bool { return delay == 0 || now >= moment+delay }
