// Package clock defines shard time: milliseconds that only log entries advance.
//
// Start with Clock. A leader stamps every batch with the time since its leadership began (Stamp), and the machine adds
// the stamp to the shard time at the beginning of the leader's term. So time is equal in every replica, stops without a
// leader, and never runs faster than the leaders' monotonic clocks.
//
// The package reads no clock.
package clock

import "math"

// Stamp is a leader's timestamp on a batch.
type Stamp struct {
	// Term is the leader's term, or zero for a batch without a stamp.
	Term uint64
	// Elapsed is the time in milliseconds, by the leader's monotonic clock, since the leader applied the command that
	// began its term, and 0 until then. The time is taken when the batch is proposed.
	Elapsed uint64
}

// Clock is a shard's time. The zero value is the clock before the shard's first leader. A clock is saved, compared and
// restored as a plain value: Base is never above Now.
type Clock struct {
	Now  uint64 // milliseconds
	Base uint64 // Now when the term began
	Term uint64 // the highest term that has begun
}

// Lead begins a term, and returns false if the term is over. Beginning the present term again changes nothing, because
// its leader has been counting since the first time.
func (c *Clock) Lead(term uint64) bool {
	if term < c.Term {
		return false
	}
	if term > c.Term {
		c.Term, c.Base = term, c.Now
	}
	return true
}

// Advance moves the clock to the batch's proposal time, if the batch is from the present term's leader. A batch from
// any other leader moves nothing, because that leader counted from a different time.
func (c *Clock) Advance(s Stamp) {
	if s.Term == c.Term {
		c.Now = max(c.Now, c.At(s.Elapsed))
	}
}

// At returns the time at which the term's leader has led for the given milliseconds. On overflow it returns the maximum
// time.
func (c *Clock) At(elapsed uint64) uint64 { return c.Base + min(elapsed, math.MaxUint64-c.Base) }

// After returns the time at which a delay that begins now ends. Stamps are whole milliseconds, rounded down: now may be
// almost one millisecond behind, so After adds one, and the delay is never shorter than requested.
func (c *Clock) After(delay uint64) uint64 {
	over := c.Now + min(delay, math.MaxUint64-c.Now)
	return over + min(1, math.MaxUint64-over)
}

// Moment returns the timestamp that rules record for an event at the time now: the beginning of the next millisecond. A
// delay ends at its timestamp plus the delay, and so is never shorter than requested, although the clock truncates to
// milliseconds.
func Moment(now uint64) uint64 { return now + 1 }

// Over reports whether a delay that began at a timestamp is over. A delay of 0 always is.
func Over(moment, delay, now uint64) bool { return delay == 0 || now >= moment+delay }
