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
