package server

import "time"

// The limits of a host. Those that users may change are in Config; docs/operating.md lists them all.
const (
	// alone and among are how many batches of one shard are under way at once, on the only host of a
	// cluster and on one of several; the next batch gathers what arrives meanwhile. Alone a second one
	// keeps the disk busy; among others a round costs so many messages that larger batches pay more.
	alone = 2
	among = 1
	// maxBatchCommands and maxBatchBytes bound one batch: who comes when it has just gone waits until it is through.
	maxBatchCommands = 2048
	maxBatchBytes    = 1 << 20
	// maxQueuedCommands and maxQueuedBytes bound what waits for the next batches of one shard. More is
	// refused with OVERLOADED.
	maxQueuedCommands = 65_536
	maxQueuedBytes    = 64 << 20
	// sharedCommands and sharedBytes are from when on the queue is shared out, in any case.
	sharedCommands = maxQueuedCommands / 8
	sharedBytes    = maxQueuedBytes / 8
	// lightCommands and lightBytes are what may wait for one connection though others have filled their part of the queue.
	lightCommands = 64
	lightBytes    = 64 << 10
	// commandCost is what a command costs besides its bytes, in bytes, when turns are shared out.
	commandCost = 512
	// flowQuantum is what one connection may have in a batch while another one that asks for little is there;
	// addressQuantum and tokenQuantum, all connections of an address and of a token, where there are others.
	flowQuantum    = 16 << 10
	addressQuantum = 32 << 10
	tokenQuantum   = 64 << 10
	// largeCommand is from how many bytes on a command is large; such commands have largePerBatch of a batch,
	// and only one batch at a time, while a connection that asks for little has commands queued.
	largeCommand  = 8 << 10
	largePerBatch = 64 << 10
	// heavyCost is from when on a connection asks for much at a time, and sharedFor how long that is remembered. One that
	// had little in more than lightBatches batches is taken for one that asks for little.
	heavyCost    = 8 << 10
	sharedFor    = time.Second
	lightBatches = 2
	// spareFlows is for how many flows memory is kept, for so many commands and bytes each.
	spareFlows    = 512
	spareCommands = 64
	spareBytes    = 8 << 10
	// keptBytes and keptOps are how much room of a shard's queue is kept for what comes next. What a burst took is given
	// back.
	keptBytes = 2 * maxBatchBytes
	keptOps   = 2 * maxBatchCommands
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
