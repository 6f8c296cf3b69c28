package executor

import "time"

// Intervals and limits for an executor.
const (
	// lookEvery is the interval between plan checks if nothing wakes the executor.
	lookEvery = 500 * time.Millisecond
	// reportEvery is the interval between report requests to a host.
	reportEvery = time.Second
	// busyEvery is the interval between report requests while a step is open.
	busyEvery = 200 * time.Millisecond
	// reportWithin is the time limit for a report.
	reportWithin = time.Second
	// reportGood is how long a report stays valid.
	reportGood = 5 * time.Second
	// effectWithin is the time limit for an effect. The step's next effect does not begin earlier.
	effectWithin = 10 * time.Second
	// slotWithin is the time limit for a slot effect. A slot that is not moved by then stays.
	slotWithin = time.Second
	// restFactor is how many times as long as a slot move took its shards rest before the next one, mostRest the
	// longest such rest.
	restFactor = 4
	mostRest   = 10 * time.Second
	// quietFor is how long no slot of a shard must have moved for the shard's commit times to count as usual.
	quietFor = 10 * time.Second
	// proposeWithin is the time limit for a command.
	proposeWithin = 2 * time.Second
	// countEvery is the interval at which a shard's counters are recorded.
	countEvery = time.Minute
	// probeEvery is how often the record of a slow host is proposed again that has nothing to sync.
	probeEvery = 2 * time.Second
	// maxInRound is how many commands are proposed before the executor checks whether it still leads.
	maxInRound = 64
	// maxHolds is the maximum number of concurrent calls that start replicas.
	maxHolds = 16
	// dryRunSteps is the maximum number of steps in a dry run.
	dryRunSteps = 200
)

// Intervals and limits for an agent.
const (
	// readWithin is how long an agent waits for its own barriers in a report.
	readWithin = 700 * time.Millisecond
	// sampleEvery is the interval at which an agent samples the progress of the shards its host leads.
	sampleEvery = 100 * time.Millisecond
	// samples is the maximum number of samples an agent keeps per shard.
	samples = 128
	// leastBehind is the least lag of a replica whose index is below all samples: such a replica has not caught up.
	leastBehind = 2 * time.Second
	// electedFor is how long a new leader waits before it reports the followers' progress.
	electedFor = 200 * time.Millisecond
	// freshGap is the time without a barrier after which a host's freshness restarts.
	freshGap = 3 * time.Second
)
