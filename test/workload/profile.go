package workload

import (
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/client"
)

// Profile describes program behavior: the differences between virtual time and real processes.
type Profile struct {
	Targets []Target
	Odds    Odds
	// Work draws the working time under a lease of a session with this timeout.
	Work func(random *rand.Rand, timeout time.Duration) time.Duration
	// Timeouts are the operation timeouts of a program, drawn for each operation.
	Timeouts []time.Duration
	// LongWait is the longest timeout of an acquire, in whole milliseconds, unless it waits forever.
	LongWait time.Duration
	// ResolveTimeout bounds the operation by which a program learns the outcome of a given-up operation.
	ResolveTimeout time.Duration
	// Retry is the longest pause before a session is asked for again.
	Retry time.Duration
	// LostGuards: every third update is guarded by the session's last lease, lost or not.
	LostGuards bool
}

// Odds are the frequencies of a program's operations, out of Of. In the remaining cases it does nothing.
type Odds struct {
	Of int

	Acquire, Use, Change, Update, Describe, WatchOnce, Recreate, Release, CreateOnce int
	// Close is how often the program considers closing its session; it does so once in CloseOne times.
	Close, CloseOne int
}

// Target is a semaphore used by programs, and how they use it.
type Target struct {
	Name      string
	Limit     uint64
	Ephemeral bool
	Recreated bool // sometimes deleted, also by force, and recreated
	Data      bool // its data is written
	Config    bool // its data is replaced by revision
}

// Targets returns the locks, pools and shared locks used in every test, followed by others. Programs draw from the list
// by index, so its order is part of a seed's meaning.
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

// count draws the count to acquire.
func (t Target) count(random *rand.Rand) uint64 {
	if t.Ephemeral {
		return Pick(random, uint64(1), 1, client.All)
	}
	return 1 + random.Uint64N(t.Limit)
}

// exclusive reports whether the semaphore has one owner at a time.
func (t Target) exclusive() bool { return t.Limit == 1 }

// CreatedOnce is the name prefix of semaphores created once, each by one program, and never changed.
const CreatedOnce = "ledger-"

// Pick draws a value.
func Pick[T any](random *rand.Rand, values ...T) T { return values[random.IntN(len(values))] }

// UpTo draws a duration above zero.
func UpTo(random *rand.Rand, longest time.Duration) time.Duration {
	return 1 + time.Duration(random.Int64N(int64(longest)))
}
