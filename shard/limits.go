package shard

import "time"

// The limits of the machine. They are part of what every replica must agree on, so they are
// constants; a host may be set to refuse earlier, never later.
const (
	// MaxName is the longest name of a named object, in bytes. The shortest has one.
	MaxName = 1024
	// MaxData is the most data that a semaphore, an owner or a waiter carries, in bytes.
	MaxData = 1 << 20
	// MaxDescription is the longest description of a session, in bytes.
	MaxDescription = 1024
	// MaxClientAddress, MaxClientName and MaxClientVersion are the longest that a session keeps of its client, in
	// bytes.
	MaxClientAddress = 512
	MaxClientName    = 256
	MaxClientVersion = 64
	// MaxKey is the longest protection key of a session, in bytes.
	MaxKey = 16
	// MaxSessionTimeout is the longest that a session may stay away and come back.
	MaxSessionTimeout = 30 * time.Minute
	// MaxAcquireTimeout is the longest finite time that an acquire may wait.
	MaxAcquireTimeout = 24 * time.Hour
	// MaxSessionsPerNode and MaxSemaphoresPerNode bound one node within one shard.
	MaxSessionsPerNode   = 1_000_000
	MaxSemaphoresPerNode = 1_000_000
	// DefaultNodeObjects, DefaultNodeBytes, DefaultShardObjects and DefaultShardBytes are the quotas of a node within
	// one shard, and of a shard, where none were set. MaxSemaphoresPerNode is the most objects that a quota allows a
	// node.
	DefaultNodeObjects  = MaxSemaphoresPerNode
	DefaultNodeBytes    = 1 << 30
	DefaultShardObjects = 10_000_000
	DefaultShardBytes   = 4 << 30
	// ObjectBytes, LinkBytes, SessionBytes and AnswerBytes are what each of these counts for in a quota of bytes,
	// beside the bytes of its name, its data and its other strings. They stand for its places in slabs, trees and
	// tables, so that the sum is near the heap that it takes: TestQuotasCountWhatTheHeapHolds allows a quarter.
	ObjectBytes  = 192
	LinkBytes    = 144
	SessionBytes = 256
	AnswerBytes  = 40
	// AnswerBodyBytes is what the body of an answer counts for beside its bytes, in a quota and in MaxAnswerBytes.
	AnswerBodyBytes = 32
	// MaxAnswerBytes is the most that the answers which a shard keeps for one session may count for. A mutation that
	// may need more for its own answer is refused, until the session says which ones it saw. Answers without bodies
	// never come to that.
	MaxAnswerBytes = 256 << 10
	// MaxAnswerBody is the longest body that an answer may have, so that it fits where a session has seen all others.
	MaxAnswerBody = MaxAnswerBytes - AnswerBytes - AnswerBodyBytes
	// MaxUnacknowledged is how many answers a shard keeps for one session that has not said that it
	// saw them. More numbered mutations are refused until it does.
	MaxUnacknowledged = 1024
	// MaxWork is how many pieces of work one command does: links that it releases or grants, sessions and objects that
	// it takes out. CmdContinue does the rest. With the link that the command itself is about it touches no more than
	// MaxTouched.
	MaxWork    = 2000
	MaxTouched = 2048
	// MaxLinksPerSession is how many semaphores a session may own and wait for in one shard.
	MaxLinksPerSession = 65_536
	// MaxBatch is the most commands in one batch, MaxBatchBytes the most bytes.
	MaxBatch      = 16_384
	MaxBatchBytes = 16 << 20
	// MaxList is the most sessions or waiters that one command may name.
	MaxList = 10_000
	// MaxPage is the most entries that one read returns, and so the most that are read under one
	// hold of the read lock.
	MaxPage = 1000
)

// Forever is the acquire timeout that never fires, in milliseconds, and the count and the limit
// that stand for "all of it".
const Forever = ^uint64(0)

// Exclusive is the count that takes a semaphore of unbounded limit for one owner alone.
const Exclusive = ^uint64(0)
