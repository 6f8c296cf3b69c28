package executor

import "time"

const (
	// lookEvery is how often the plan is looked at when nothing wakes the executor.
	lookEvery = 500 * time.Millisecond
	// reportEvery is how often each host is asked for a report, busyEvery how often while a step is open.
	reportEvery, busyEvery = time.Second, 200 * time.Millisecond
	// reportWithin is how long a host may take for a report, and readWithin how long it waits for its own barriers in it.
	reportWithin, readWithin = time.Second, 700 * time.Millisecond
	// effectWithin is how long an effect may take; another one of its step begins no earlier.
	effectWithin = 10 * time.Second
	// proposeWithin is how long a command may take.
	proposeWithin = 2 * time.Second
	// maxInRound is how many commands are proposed before the executor looks whether it still leads.
	maxInRound = 64
	// maxHolds is how many calls that start replicas are under way at once.
	maxHolds = 16
	// reportLife is for how long a report says anything of its host.
	reportLife = 5 * time.Second

	// sampleEvery is how often an agent notes how far the shards are that its host leads, samples how many notes it
	// keeps of each.
	sampleEvery, samples = 100 * time.Millisecond, 128
	// unknownBehind is the lag of a replica whose index is below all that is noted.
	unknownBehind = time.Minute
	// settleFor is how long a leader leads before it reports how far the others are.
	settleFor = 200 * time.Millisecond
	// freshGap is after how long without a barrier a host's freshness begins anew.
	freshGap = 3 * time.Second
	// dryRunSteps is how many steps a dry run shows at the most.
	dryRunSteps = 200
)
