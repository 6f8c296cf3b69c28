package lease

import "time"

// Pulse notices that whoever ticks it was standing still: stopped, starved of processor time, or stuck
// in a system call. A Table has one, ticked by Due. What reads connections and can stall by itself is
// their holders' Reader.
//
// It is ticked from one goroutine.
type Pulse struct {
	limit   time.Duration
	last    instant
	started bool
}

// NewPulse returns a pulse that calls it a stall when two ticks are more than limit apart.
func NewPulse(limit time.Duration) *Pulse { return &Pulse{limit: limit} }

// Tick says that the ticker is running, and returns whether it was standing still since the last tick.
// The first tick never is a stall.
func (p *Pulse) Tick(now time.Time) (stalled bool) {
	_, stalled = p.tick(instantOf(now))
	return stalled
}

// tick also returns since when it was standing still.
func (p *Pulse) tick(now instant) (from instant, stalled bool) {
	from, stalled = p.last, p.started && now > p.last.plus(p.limit)
	p.last, p.started = now, true
	return from, stalled
}

// missed is how much time a session gets for a standstill of that length: all of it, and a share for reading
// what came meanwhile.
func missed(standstill time.Duration) time.Duration {
	return standstill + min(standstill/catchUpShare, maxCatchUp)
}
