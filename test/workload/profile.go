package workload

import (
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
)

// Profile says how programs behave: what differs between those in virtual time and those in real processes.
type Profile struct {
	Targets []Target
	Odds    Odds
	// Work draws how long a program works under a lease of a session with this timeout.
	Work func(random *rand.Rand, timeout time.Duration) time.Duration
	// Timeouts are the longest times that a program waits for an operation; each time it draws one.
	Timeouts []time.Duration
	// LongWait is the longest timeout of an acquire, in whole milliseconds, unless it waits for ever.
	LongWait time.Duration
	// ResolveTimeout bounds the operation by which a program learns the outcome of one that it gave up.
	ResolveTimeout time.Duration
	// Retry is the longest pause before a session is asked for again.
	Retry time.Duration
	// LostGuards: one of three updates is guarded by the last lease that the session had, lost or not.
	LostGuards bool
}

// Odds are how often a program does what, of so many times. In what is left it does nothing.
type Odds struct {
	Of int

	Acquire, Use, Change, Update, Describe, WatchOnce, Recreate, Release, CreateOnce int
	// Close is how often the program considers closing its session; one time in CloseOne it does.
	Close, CloseOne int
}

// Target is a semaphore that programs use, and how they use it.
type Target struct {
	Name      string
	Limit     uint64
	Ephemeral bool
	Recreated bool // it is deleted now and then, by force too, and created again
	Data      bool // its data is written
	Config    bool // its data is replaced by revision
}

// Targets returns the locks, pools and shared locks that programs use in every test, and then others. Programs draw
// from the list by index, so its order is a part of what a seed fixes.
func Targets(others ...Target) []Target {
	return append([]Target{
		{Name: "lock-0", Limit: 1},
		{Name: "lock-1", Limit: 1, Data: true},
		{Name: "pool-0", Limit: 3},
		{Name: "pool-1", Limit: 7, Data: true},
		{Name: "shared-0", Limit: client.All, Ephemeral: true},
		{Name: "shared-1", Limit: client.All, Ephemeral: true, Data: true},
	}, others...)
}

// count draws how much of the semaphore is asked for.
func (t Target) count(random *rand.Rand) uint64 {
	if t.Ephemeral {
		return Pick(random, uint64(1), 1, client.All)
	}
	return 1 + random.Uint64N(t.Limit)
}

// exclusive reports whether the semaphore has one owner at a time.
func (t Target) exclusive() bool { return t.Limit == 1 }

// CreatedOnce begins the names of the semaphores that are created once, each by one program, and never changed again.
const CreatedOnce = "ledger-"

// Pick draws one of the values.
func Pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// UpTo draws a duration above zero.
func UpTo(random *rand.Rand, longest time.Duration) time.Duration {
	return 1 + time.Duration(random.Int64N(int64(longest)))
}
