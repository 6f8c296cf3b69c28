package lease

import (
	"sync"
	"sync/atomic"
	"time"
)

// Freshness reports whether a host still knows that its knowledge of a shard holds: a read barrier that succeeded was
// begun less than a window ago. The window counts from the beginning of the barrier, because the barrier proves the
// state at its beginning.
//
// A process that was stopped for longer than the window is not fresh when it wakes, even if the process does not
// notice the stop. All goroutines may call all methods.
type Freshness struct {
	until atomic.Int64 // not fresh from here on

	mu         sync.Mutex
	begun      instant // of the latest barrier that counted
	window     time.Duration
	generation uint64 // rounds of other generations do not count
}

// Round is a read barrier under way.
type Round struct {
	begun      instant
	generation uint64
	term       uint64
}

// NewFreshness returns a Freshness that is not fresh and has a window of zero.
func NewFreshness() *Freshness {
	f := &Freshness{begun: longAgo}
	f.until.Store(int64(longAgo))
	return f
}

// Begin notes that the caller is about to ask for a barrier. The time is read, and Begin called, before the barrier.
func (f *Freshness) Begin(now time.Time) Round {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Round{begun: instantOf(now), generation: f.generation}
}

// Succeeded notes that the barrier of the round succeeded, and returns whether the barrier counts: not if Forget or
// Rely was called meanwhile. Rounds may overlap and end in any order.
func (f *Freshness) Succeeded(r Round) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.generation != f.generation {
		return false
	}
	if r.begun >= f.begun { // an equal moment as well: the round may have a larger window than the round before it
		f.begun = r.begun
		f.until.Store(int64(r.begun.plus(f.window)))
	}
	return true
}

// Fresh reports whether the host is fresh. To vouch for a message of a client, now must have been read after hearing
// the client.
func (f *Freshness) Fresh(now time.Time) bool { return int64(instantOf(now)) < f.until.Load() }

// Rely sets how long a barrier may be relied on: the smallest grace period that another host may give sessions. A
// small share of the period stays unused, for clocks that drift apart. A smaller period holds at once, also for the
// barrier that counts now; a larger period holds only for barriers begun from now on. Barriers should be repeated
// several times within the period.
func (f *Freshness) Rely(grace time.Duration) {
	assert(grace >= 0, "a grace period is not negative")
	window := grace - grace/driftShare
	f.mu.Lock()
	defer f.mu.Unlock()
	if window == f.window {
		return
	}
	f.until.Store(min(f.until.Load(), int64(f.begun.plus(window))))
	f.window = window
	f.generation++
}

// Forget makes the host not fresh, no matter how many barriers are still under way.
func (f *Freshness) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = longAgo
	f.until.Store(int64(longAgo))
	f.generation++
}
