package simulation

import (
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

var scenery = workload.Scenery(
	workload.Scene{Name: "doomed-0", Limit: 2, Doomed: true, Data: true},
	workload.Scene{Name: "config-0", Limit: 1, Doomed: true, Data: true},
)

// Semaphores is how many semaphores a world has.
var Semaphores = int64(len(scenery))

// habits are those of all programs. Waiting costs nothing here.
var habits = &workload.Habits{
	Scenery: scenery,
	Odds: workload.Odds{
		Of: 100, Acquire: 45, Use: 25, Change: 6, Update: 6, Describe: 10, Await: 2, Remake: 3, Release: 1, Close: 1, CloseOne: 4,
	},
	Work: func(dice *rand.Rand, timeout time.Duration) time.Duration {
		return workload.Pick(dice, 10*time.Millisecond, time.Second, 2*timeout)
	},
	Patience:       []time.Duration{20 * time.Millisecond, time.Second, 10 * time.Second, 30 * time.Second},
	LongWait:       8 * time.Second,
	SettlePatience: 30 * time.Second,
	Retry:          time.Second,
	LateGuards:     true,
}
