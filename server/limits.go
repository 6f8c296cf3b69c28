package server

import "time"

// The limits of a host. Those that users may change are in Config; docs/operating.md lists them all.
const (
	// overloadWait is what a client is asked to wait where a queue is full.
	overloadWait = 20 * time.Millisecond

	// maxPending is how many bytes may wait to be sent over one connection. A client that reads
	// slower than that is cut off.
	maxPending = 32 << 20
	// slowPending is how many bytes may wait before further requests of the connection are refused with
	// OVERLOADED: answers are much longer than requests, and a client must not run into maxPending by
	// asking much at once.
	slowPending = 16 << 20
	// spillBytes is how much is gathered for a connection before it is handed over to be sent.
	spillBytes = 256 << 10
	// helloTime is how long a connection may stay without a Hello.
	helloTime = 5 * time.Second
	// silences is how many ping intervals a connection may be silent before it is closed.
	silences = 3

	// tick is how often a host looks at its clocks: leases, timers, self-checks.
	tick = 50 * time.Millisecond
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
