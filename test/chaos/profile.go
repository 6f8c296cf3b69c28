//go:build linux

package chaos

import (
	"math/rand/v2"
	"time"

	"github.com/signalbox/signalbox/test/workload"
)

// targets are a trial's semaphores.
var targets = workload.Targets(
	workload.Target{Name: "doomed", Limit: 2, Recreated: true, Data: true},
	workload.Target{Name: "config", Limit: 1, Config: true},
)

// profile is the profile for all programs, without idle time.
var profile = &workload.Profile{
	Targets: targets,
	Odds: workload.Odds{
		Of: 200, Acquire: 80, Use: 64, Change: 8, Update: 12, Describe: 17, WatchOnce: 3, Recreate: 6, Release: 2,
		CreateOnce: 7, Close: 1, CloseOne: 3,
	},
	Work: func(random *rand.Rand, timeout time.Duration) time.Duration {
		work := workload.Pick(random, time.Millisecond, 10*time.Millisecond, 100*time.Millisecond)
		if random.IntN(40) == 0 {
			work = 2 * timeout
		}
		return work
	},
	Timeouts:       []time.Duration{20 * time.Millisecond, 200 * time.Millisecond, time.Second, 6 * time.Second},
	LongWait:       2 * time.Second,
	ResolveTimeout: 10 * time.Second,
	Retry:          200 * time.Millisecond,
}

// Periods in the nodes for acts.
const (
	grace     = 2 * time.Second
	selfCheck = 500 * time.Millisecond
)

// timeouts are session timeouts in acts.
var timeouts = []time.Duration{2 * time.Second, 3 * time.Second, longestTimeout}

// longestTimeout is the longest session timeout.
const longestTimeout = 6 * time.Second

// longestLease exceeds the time for which a client in an act may own a semaphore after its last contact to hosts.
const longestLease = longestTimeout + grace + time.Second
