package replica

import "time"

const (
	// overloadWait is what a client is asked to wait where a queue is full.
	OverloadWait = 20 * time.Millisecond
	// tick is how often a host looks at its clocks: leases, timers, self-checks.
	Tick = 50 * time.Millisecond
	// stallAfter is how far apart two looks at the leases may be before the leader holds that it has
	// not heard clients that were speaking. Looks that are farther apart than that are a stall.
	stallAfter = time.Second
	// expireBatch and timeOutBatch bound the lists in one command.
	expireBatch  = 2000
	timeOutBatch = 2000
	// dropStep is how many things of a dropped node one command removes.
	dropStep = 500
	// sweepEvery is how often a leader asks about all its guests and nodes though nothing told it to.
	sweepEvery = 30 * time.Second
	// sweepPages bounds how many of them it asks about in one turn of the loop, in pages of shard.MaxPage.
	sweepPages = 8
	// readyWait is how long who asks whether a host is ready may wait until it has made sure.
	readyWait = time.Second
	// staleAfter is how long a replica that serves reads may go without a successful barrier before
	// it ends its watches, so that their clients go to a host that knows more.
	staleAfter = 5 * time.Second
)
