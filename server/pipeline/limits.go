package pipeline

import "time"

const (
	// maxInflight is how many batches of one shard are in flight at once if rounds are not slow. See pace.
	maxInflight = 8
	// slowRound is the round from which on a batch waits for the callers that the last batch has answered, for one
	// waitShare of a round at most. If a sync takes more than one diskShare of a round, one batch is in flight at a
	// time.
	slowRound  = 800 * time.Microsecond
	shortestOf = 32
	waitShare  = 2
	diskShare  = 4
	// maxScale bounds pace.scale.
	maxScale   = 8
	quietShare = 8
	// maxBatchCommands and maxBatchBytes bound one batch: a command that just misses a batch waits until the batch is
	// applied.
	maxBatchCommands = 2048
	maxBatchBytes    = 1 << 20
	// DefaultQueuedBytes and maxQueuedCommands bound the commands that wait for the next batches of one shard. More
	// commands are refused with OVERLOADED. A host with little memory has fewer bytes: Options.QueuedBytes.
	DefaultQueuedBytes = 64 << 20
	maxQueuedCommands  = 65_536
	// hostCommands, and as large a part of the bytes, bound the waiting commands of the host itself. The bounds come on
	// top of the clients' bounds, so that neither side is refused because of the other side's queue.
	hostCommands = maxQueuedCommands / queueShare
	// sharedCommands, and as large a part of the bytes, are the length from which the queue is shared out in any case.
	sharedCommands = maxQueuedCommands / queueShare
	queueShare     = 8
	// lightCommands and lightBytes are how much may wait for one source even when other sources have filled their
	// share of the queue.
	lightCommands = 64
	lightBytes    = 64 << 10
	// commandCost is the cost of a command besides its bytes, in bytes, when batches are shared out.
	commandCost = 512
	// flowQuantum is how much of a batch one source may have beside a source that asks for little. addressQuantum and
	// tokenQuantum are the amounts for all sources of an address and of a token, if there are several.
	flowQuantum    = 16 << 10
	addressQuantum = 32 << 10
	tokenQuantum   = 64 << 10
	// hostPerBatch is how much of a batch the host itself may have: a sixteenth, or one command.
	hostPerBatch = maxBatchBytes / 16
	// largeCommand is from how many bytes on a command is large. While a source that asks for little has commands
	// queued, large commands have largePerBatch of a batch, in only one batch at a time.
	largeCommand  = 8 << 10
	largePerBatch = 64 << 10
	// heavyCost is the cost from which a source asks for much at a time, and sharedFor how long the pipeline
	// remembers a heavy source. A source with little in more than lightBatches batches counts as a source that asks
	// for little.
	heavyCost    = 8 << 10
	sharedFor    = time.Second
	lightBatches = 2
	// spareFlows is for how many flows memory is kept, for so many commands and bytes each.
	spareFlows    = 512
	spareCommands = 64
	spareBytes    = 8 << 10
	// keptBytes and keptOps are how much memory of a shard's queue is kept for further commands. The memory of a
	// burst is given back.
	keptBytes = 2 * maxBatchBytes
	keptOps   = 2 * maxBatchCommands
)
