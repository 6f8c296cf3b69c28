package workload

import (
	"math/rand/v2"
	"time"
)

// Habits are how programs behave: what differs between those in virtual time and those in real processes.
type Habits struct {
	Scenery []Scene
	Odds    Odds
	// Work draws how long a program works under a lease of a session with this timeout.
	Work func(dice *rand.Rand, timeout time.Duration) time.Duration
	// Patience has the longest times that a program waits for something that it asked for; each time it draws one.
	Patience []time.Duration
	// LongWait is the longest time that an acquire lets itself wait, in whole milliseconds, unless for ever.
	LongWait time.Duration
	// SettlePatience is how long a program waits to hear what became of something that it gave up.
	SettlePatience time.Duration
	// Retry is the longest pause before a session is asked for again.
	Retry time.Duration
	// LateGuards: one of three updates is for the last lease that the session had, lost or not.
	LateGuards bool
}

// Odds are how often a program does what, of so many times. In what is left it does nothing.
type Odds struct {
	Of int

	Acquire, Use, Change, Update, Describe, Await, Remake, Release, Enter int
	// Close is how often it thinks of closing its session; one time in CloseOne it does.
	Close, CloseOne int
}
