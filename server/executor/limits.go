package executor

import "time"

// The periods and bounds of an executor.
const (
	// lookEvery is how often the plan is looked at when nothing wakes the executor.
	lookEvery = 500 * time.Millisecond
	// reportEvery is how often each host is asked for a report.
	reportEvery = time.Second
	// busyEvery is how often each host is asked while a step is open.
	busyEvery = 200 * time.Millisecond
	// reportWithin is how long a host may take for a report.
	reportWithin = time.Second
	// reportGood is for how long a report counts.
	reportGood = 5 * time.Second
	// effectWithin is how long an effect may take. The next effect of the step does not begin earlier.
	effectWithin = 10 * time.Second
	// proposeWithin is how long a command may take.
	proposeWithin = 2 * time.Second
	// countEvery is how often the counters of a shard are put on record.
	countEvery = time.Minute
	// maxInRound is how many commands are proposed before the executor checks whether it still leads.
	maxInRound = 64
	// maxHolds is how many calls that start replicas are under way at once.
	maxHolds = 16
	// dryRunSteps is how many steps a dry run shows at the most.
	dryRunSteps = 200
)

// The periods and bounds of an agent.
const (
	// readWithin is how long an agent waits for its own barriers in a report.
	readWithin = 700 * time.Millisecond
	// sampleEvery is how often an agent notes the progress of the shards that its host leads.
	sampleEvery = 100 * time.Millisecond
	// samples is how many notes an agent keeps of each shard.
	samples = 128
	// unknownBehind is the lag of a replica whose index is below all notes.
	unknownBehind = time.Minute
	// electedFor is how long a leader leads before it reports how far the followers are.
	electedFor = 200 * time.Millisecond
	// freshGap is after how long without a barrier a host's freshness begins anew.
	freshGap = 3 * time.Second
)
