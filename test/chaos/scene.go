//go:build linux

package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

var scenery = workload.Scenery(
	workload.Scene{Name: "doomed", Limit: 2, Doomed: true, Data: true},
	workload.Scene{Name: "config", Limit: 1, Config: true},
)

// habits are those of all programs. They waste no time.
var habits = &workload.Habits{
	Scenery: scenery,
	Odds: workload.Odds{
		Of: 200, Acquire: 80, Use: 64, Change: 8, Update: 12, Describe: 17, Await: 3, Remake: 6, Release: 2, Enter: 7, Close: 1, CloseOne: 3,
	},
	Work: func(dice *rand.Rand, timeout time.Duration) time.Duration {
		work := workload.Pick(dice, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond)
		if dice.IntN(40) == 0 {
			work = 2 * timeout
		}
		return work
	},
	Patience:       []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second, 6 * time.Second},
	LongWait:       2 * time.Second,
	SettlePatience: 10 * time.Second,
	Retry:          200 * time.Millisecond,
}

// grace and selfCheck are those of the nodes in which acts play.
const (
	grace     = 2 * time.Second
	selfCheck = 500 * time.Millisecond
)

// timeouts are those of sessions in acts.
var timeouts = []time.Duration{2 * time.Second, 3 * time.Second, longestTimeout}

// longestTimeout is the longest of them.
const longestTimeout = 6 * time.Second

// longestLease is longer than anybody in an act may own what he is not heard of any more.
const longestLease = longestTimeout + grace + time.Second
