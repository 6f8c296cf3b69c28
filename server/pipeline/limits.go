package pipeline

import "time"

const (
	// Alone and Among are how many batches of one shard are in flight at once, where one host votes for the only shard
	// and where there are several of either; the next batch gathers what arrives meanwhile. Alone a second one keeps
	// the disk busy, as other shards do where there are some; among other hosts a round costs so many messages that
	// larger batches pay more.
	Alone = 2
	Among = 1 // see Alone
	// maxBatchCommands and maxBatchBytes bound one batch: what comes when it has just gone waits until it is applied.
	maxBatchCommands = 2048
	maxBatchBytes    = 1 << 20
	// maxQueuedCommands and maxQueuedBytes bound what waits for the next batches of one shard. More is
	// refused with OVERLOADED.
	maxQueuedCommands = 65_536
	maxQueuedBytes    = 64 << 20
	// hostCommands and hostBytes bound what the host itself has waiting. They come on top of what clients may have, so
	// that neither is refused for what the other has queued.
	hostCommands = maxQueuedCommands / 8
	hostBytes    = maxQueuedBytes / 8
	// sharedCommands and sharedBytes are from when on the queue is shared out, in any case.
	sharedCommands = maxQueuedCommands / 8
	sharedBytes    = maxQueuedBytes / 8
	// lightCommands and lightBytes are what may wait for one source though others have filled their share of the queue.
	lightCommands = 64
	lightBytes    = 64 << 10
	// commandCost is what a command costs besides its bytes, in bytes, when batches are shared out.
	commandCost = 512
	// flowQuantum is what one source may have in a batch while another one that asks for little is there;
	// addressQuantum and tokenQuantum, all sources of an address and of a token, where there are others.
	flowQuantum    = 16 << 10
	addressQuantum = 32 << 10
	tokenQuantum   = 64 << 10
	// hostPerBatch is what the host itself may have in a batch: a sixteenth of it, or one command.
	hostPerBatch = maxBatchBytes / 16
	// largeCommand is from how many bytes on a command is large; such commands have largePerBatch of a batch,
	// and only one batch at a time, while a source that asks for little has commands queued.
	largeCommand  = 8 << 10
	largePerBatch = 64 << 10
	// heavyCost is from when on a source asks for much at a time, and sharedFor how long that is remembered. One that
	// had little in more than lightBatches batches counts as one that asks for little.
	heavyCost    = 8 << 10
	sharedFor    = time.Second
	lightBatches = 2
	// spareFlows is for how many flows memory is kept, for so many commands and bytes each.
	spareFlows    = 512
	spareCommands = 64
	spareBytes    = 8 << 10
	// keptBytes and keptOps are how much room of a shard's queue is kept for what comes next. What a burst took is
	// given back.
	keptBytes = 2 * maxBatchBytes
	keptOps   = 2 * maxBatchCommands
)

// WindowOf returns how many batches of a shard with so many voters, one of so many data shards, are in flight at once.
func WindowOf(voters, shards int) int {
	if voters > 1 || shards > 1 {
		return Among
	}
	return Alone
}
