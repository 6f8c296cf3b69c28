package shard

import (
	"time"

	"github.com/signalbox/signalbox/protocol/session"
)

// The limits of the machine. All replicas must agree on them, so they are constants; a host may be set to refuse
// earlier, never later.
const (
	// MaxName is the longest name of a named object, in bytes. The shortest has one.
	MaxName = 1024
	// MaxData is the most data that a semaphore, an owner or a waiter carries, in bytes.
	MaxData = 1 << 20
	// MaxSessionDetails is the longest record of what a client reports about its session, in bytes.
	MaxSessionDetails = session.MaxSize
	// MaxClientAddress, MaxClientName and MaxClientVersion are the longest texts that a session keeps of its client,
	// in bytes.
	MaxClientAddress = 512
	MaxClientName    = 256
	MaxClientVersion = 64
	// MaxKey is the longest protection key of a session, in bytes.
	MaxKey = 16
	// MaxSessionTimeout is the longest time that a session may stay away and come back.
	MaxSessionTimeout = 30 * time.Minute
	// UnnotedTimeout is the longest session timeout, in milliseconds, that a shard grants without a bound on record in
	// the meta shard: a shard that is made anew waits for so long at the least.
	UnnotedTimeout = 30_000
	// MaxAcquireTimeout is the longest finite time of a waiting acquire.
	MaxAcquireTimeout = 24 * time.Hour
	// MaxSessionsPerNode and MaxSemaphoresPerNode bound a node within a shard.
	MaxSessionsPerNode   = 1_000_000
	MaxSemaphoresPerNode = 1_000_000
	// DefaultNodeObjects, DefaultNodeBytes, DefaultShardObjects and DefaultShardBytes are the quotas of a node within
	// a shard, and of a shard, unless an operator has set others. MaxSemaphoresPerNode is the most objects that a
	// quota allows a node.
	DefaultNodeObjects  = MaxSemaphoresPerNode
	DefaultNodeBytes    = 1 << 30
	DefaultShardObjects = 10_000_000
	DefaultShardBytes   = 4 << 30
	// ObjectBytes, LinkBytes, SessionBytes and AnswerBytes are the sizes of an object, a link, a session and an
	// answer in a quota of bytes, beside the bytes of name, data and other strings. The sizes stand for places in
	// slabs, trees and tables, so that the sum is near the heap in use: TestQuotasCountWhatTheHeapHolds allows
	// a heap from six tenths of the sum to a quarter above. A session takes less heap than when SessionBytes was fixed.
	ObjectBytes  = 192
	LinkBytes    = 144
	SessionBytes = 256
	AnswerBytes  = 40
	// AnswerBodyBytes is the size of an answer's body beside its bytes, in a quota and in MaxAnswerBytes.
	AnswerBodyBytes = 32
	// MaxAnswerBytes is the largest size of all answers that a shard keeps for one session. A mutation with an answer
	// that may need more is refused, until the session acknowledges earlier answers. Answers without bodies never
	// reach the limit.
	MaxAnswerBytes = 256 << 10
	// MaxAnswerBody is the longest body of an answer: the body fits if the session has seen all other answers.
	MaxAnswerBody = MaxAnswerBytes - AnswerBytes - AnswerBodyBytes
	// MaxUnacknowledged is how many answers a shard keeps for one session that has not acknowledged them. Further
	// numbered mutations are refused until the session acknowledges some.
	MaxUnacknowledged = 1024
	// MaxWork is how many pieces of work one command does: links released or granted, sessions and objects removed.
	// CmdContinue does the rest. With the command's own link a command touches no more than MaxTouched links.
	MaxWork    = 2000
	MaxTouched = 2048
	// MaxLinksPerSession is how many semaphores a session may own and wait for in one shard.
	MaxLinksPerSession = 65_536
	// MaxBatch is the most commands in a batch, MaxBatchBytes the most bytes.
	MaxBatch      = 16_384
	MaxBatchBytes = 16 << 20
	// MaxList is the most sessions that a command may name.
	MaxList = 10_000
	// MaxPage is the most entries of a read, and so the most entries read under one hold of the read lock.
	MaxPage = 1000
)

// Forever is the acquire timeout that never fires, in milliseconds. As a count and as a limit Forever stands for
// "all".
const Forever = ^uint64(0)

// Exclusive is the count that takes a semaphore of unbounded limit for a single owner.
const Exclusive = ^uint64(0)
