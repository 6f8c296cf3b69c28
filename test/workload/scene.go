package workload

import (
	"math/rand/v2"

	"github.com/signalbox/signalbox/client"
)

// Scene is a semaphore that programs use, and what for.
type Scene struct {
	Name      string
	Limit     uint64
	Ephemeral bool
	Doomed    bool // deleted now and then, by force too, and created again
	Data      bool // its data is written
	Config    bool // its data is written by who has read the revision that it replaces
}

// Scenery is the locks, pools and shared locks that programs use everywhere, and then others. Programs draw from it by
// place, so the order belongs to what a seed fixes.
func Scenery(others ...Scene) []Scene {
	return append([]Scene{
		{Name: "lock-0", Limit: 1},
		{Name: "lock-1", Limit: 1, Data: true},
		{Name: "pool-0", Limit: 3},
		{Name: "pool-1", Limit: 7, Data: true},
		{Name: "shared-0", Limit: client.All, Ephemeral: true},
		{Name: "shared-1", Limit: client.All, Ephemeral: true, Data: true},
	}, others...)
}

// count draws how much of the semaphore is asked for.
func (s Scene) count(dice *rand.Rand) uint64 {
	if s.Ephemeral {
		return Pick(dice, uint64(1), 1, client.All)
	}
	return 1 + dice.Uint64N(s.Limit)
}

// exclusive tells whether the scene has one owner at a time.
func (s Scene) exclusive() bool { return s.Limit == 1 }

// Ledger is what the names of the semaphores begin with that are made once, each by one program, and never
// touched again.
const Ledger = "ledger-"
