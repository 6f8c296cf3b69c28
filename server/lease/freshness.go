package lease

import (
	"sync"
	"sync/atomic"
	"time"
)

// Freshness reports whether a host's knowledge about a shard is still valid: the latest successful read barrier began
// less than a window ago. The window starts when the barrier begins, because a barrier proves the state at its
// beginning.
//
// A process that was stopped for longer than the window is not fresh when it resumes, even if it does not detect the
// stop. Safe for concurrent use.
type Freshness struct {
	until atomic.Int64 // not fresh from here on

	mu         sync.Mutex
	begun      instant // start of the latest barrier that counted
	window     time.Duration
	generation uint64 // rounds with other generations do not count
}

// Round is a read barrier in progress.
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

// Begin records that the caller is about to request a barrier. Read the time and call Begin before the barrier.
func (f *Freshness) Begin(now time.Time) Round {
	f.mu.Lock()
	defer f.mu.Unlock()
	return Round{begun: instantOf(now), generation: f.generation}
}

// Succeeded records that the round's barrier succeeded, and returns whether the barrier counts: it does not if Forget
// or Rely was called meanwhile. Rounds may overlap and end in any order.
func (f *Freshness) Succeeded(r Round) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if r.generation != f.generation {
		return false
	}
	if r.begun >= f.begun { // also if equal: the round may have a larger window than the previous one
		f.begun = r.begun
		f.until.Store(int64(r.begun.plus(f.window)))
	}
	return true
}

// Fresh reports whether the host is fresh. To vouch for a client's message, read now after the message was received.
func (f *Freshness) Fresh(now time.Time) bool { return int64(instantOf(now)) < f.until.Load() }

// Rely sets how long a barrier may be relied on: the smallest grace period a remote host may give sessions. A small
// share of the period is left unused, to allow for clock drift. A smaller period applies immediately, including the
// current barrier; a larger period applies only to barriers that begin later. Barriers should be repeated several
// times within the period.
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

// Forget makes the host not fresh, whatever barriers are still in progress.
func (f *Freshness) Forget() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.begun = longAgo
	f.until.Store(int64(longAgo))
	f.generation++
}
