package pipeline

import "time"

const (
	// maxInflight is the maximum number of concurrent batches per shard if rounds are not slow. See pace.
	maxInflight = 8
	// slowRound is the round time above which a batch waits for the callers the last batch has answered, for at most
	// one waitShare of a round. If a sync takes more than one diskShare of a round, only one batch is in flight at a
	// time.
	slowRound  = 800 * time.Microsecond
	shortestOf = 32
	waitShare  = 2
	diskShare  = 4
	// maxScale is the maximum pace.scale.
	maxScale   = 8
	quietShare = 8
	// maxBatchCommands and maxBatchBytes limit one batch: a command that just misses a batch waits until the batch is
	// applied.
	maxBatchCommands = 2048
	maxBatchBytes    = 1 << 20
	// DefaultQueuedBytes and maxQueuedCommands limit the commands that wait for a shard's next batches. Further
	// commands are refused with OVERLOADED. A host with little memory allows fewer bytes: Options.QueuedBytes.
	DefaultQueuedBytes = 64 << 20
	maxQueuedCommands  = 65_536
	// hostCommands, and the same fraction of the bytes, limit the host's own waiting commands. This limit is separate
	// from the clients' limit, so that neither is refused because of the other's queue.
	hostCommands = maxQueuedCommands / queueShare
	// sharedCommands, and the same fraction of the bytes, are the queue length above which the queue is always
	// divided.
	sharedCommands = maxQueuedCommands / queueShare
	queueShare     = 8
	// lightCommands and lightBytes are how much may wait for one source even if other sources have filled their share
	// of the queue.
	lightCommands = 64
	lightBytes    = 64 << 10
	// commandCost is a command's cost in addition to its bytes, in bytes, when batches are divided.
	commandCost = 512
	// flowQuantum is how much of a batch one source may have next to a source that asks for little. addressQuantum
	// and tokenQuantum are the amounts for all sources at an address or with a token, if there are several.
	flowQuantum    = 16 << 10
	addressQuantum = 32 << 10
	tokenQuantum   = 64 << 10
	// hostPerBatch is the host's own share of a batch: a sixteenth, or one command.
	hostPerBatch = maxBatchBytes / 16
	// largeCommand is the size above which a command is large. While a source that asks for little has commands
	// queued, large commands get largePerBatch of a batch, in only one batch at a time.
	largeCommand  = 8 << 10
	largePerBatch = 64 << 10
	// heavyCost is the cost above which a source asks for much at a time. sharedFor is how long the pipeline
	// remembers a heavy source. A source with little waiting in more than lightBatches batches counts as one that
	// asks for little.
	heavyCost    = 8 << 10
	sharedFor    = time.Second
	lightBatches = 2
	// spareFlows is the number of flows for which memory is kept, with spareCommands and spareBytes each.
	spareFlows    = 512
	spareCommands = 64
	spareBytes    = 8 << 10
	// keptBytes and keptOps are how much of a shard's queue memory is kept for further commands. Memory from a burst
	// is released.
	keptBytes = 2 * maxBatchBytes
	keptOps   = 2 * maxBatchCommands
)
