package shard

import (
	"time"

	"github.com/signalbox/signalbox/protocol/session"
)

// Machine limits. They are constants because all replicas must agree on them; a host may be set to refuse earlier,
// never later.
const (
	// MaxName is the maximum length of an object name, in bytes. The minimum is one.
	MaxName = 1024
	// MaxData is the maximum data size for a semaphore, an owner or a waiter, in bytes.
	MaxData = 1 << 20
	// MaxSessionDetails is the maximum size of the record that a client reports about its session, in bytes.
	MaxSessionDetails = session.MaxSize
	// MaxClientAddress, MaxClientName and MaxClientVersion are the maximum lengths of the texts a session keeps about
	// its client, in bytes.
	MaxClientAddress = 512
	MaxClientName    = 256
	MaxClientVersion = 64
	// MaxKey is the maximum length of a session's protection key, in bytes.
	MaxKey = 16
	// MaxSessionTimeout is the longest time for which a session may be disconnected and come back.
	MaxSessionTimeout = 30 * time.Minute
	// UnnotedTimeout is the longest session timeout, in milliseconds, that a shard grants without a bound on record in
	// the meta shard: a rebuilt shard waits at least that long.
	UnnotedTimeout = 30_000
	// MaxAcquireTimeout is the longest finite acquire timeout.
	MaxAcquireTimeout = 24 * time.Hour
	// MaxSessionsPerNode and MaxSemaphoresPerNode bound a node within a shard.
	MaxSessionsPerNode   = 1_000_000
	MaxSemaphoresPerNode = 1_000_000
	// DefaultNodeObjects, DefaultNodeBytes, DefaultShardObjects and DefaultShardBytes are the quotas for a node within
	// a shard, and for a shard, unless an operator has set others. MaxSemaphoresPerNode is the highest object quota for
	// a node.
	DefaultNodeObjects  = MaxSemaphoresPerNode
	DefaultNodeBytes    = 1 << 30
	DefaultShardObjects = 10_000_000
	DefaultShardBytes   = 4 << 30
	// ObjectBytes, LinkBytes, SessionBytes and AnswerBytes are the sizes of an object, a holding, a session and an
	// answer in a byte quota, beside the bytes in name, data and other strings. The sizes account for entries in slabs,
	// trees and tables, so the sum is near the heap in use: TestQuotasCountWhatTheHeapHolds allows a heap from six
	// tenths of the sum to a quarter above. A session takes less heap than when SessionBytes was fixed.
	ObjectBytes  = 192
	LinkBytes    = 144
	SessionBytes = 256
	AnswerBytes  = 40
	// SlotListBytes and SlotMapBytes are what a session's slot set adds to its size in a quota if the session has used
	// more than 4 slots, or more than 16.
	SlotListBytes = 32
	SlotMapBytes  = 512
	// AnswerBodyBytes is an answer body's size beside its bytes, in a quota and in MaxAnswerBytes.
	AnswerBodyBytes = 32
	// MaxAnswerBytes is the maximum total size of the answers a shard keeps for one session. A mutation with an answer
	// that may exceed the rest is refused, until the session acknowledges earlier answers. Answers without bodies never
	// reach the limit.
	MaxAnswerBytes = 256 << 10
	// MaxAnswerBody is the maximum length of an answer body: it fits if the session has seen all other answers.
	MaxAnswerBody = MaxAnswerBytes - AnswerBytes - AnswerBodyBytes
	// MaxUnacknowledged is how many unacknowledged answers a shard keeps for one session. Further numbered mutations
	// are refused until the session acknowledges some.
	MaxUnacknowledged = 1024
	// MaxWork is how many pieces of work one command does: holdings released or granted, sessions and objects removed.
	// CmdContinue does the rest. Including its own holding, a command touches no more than MaxTouched holdings.
	MaxWork    = 2000
	MaxTouched = 2048
	// MaxLinksPerSession is how many semaphores a session may own and wait for in one shard.
	MaxLinksPerSession = 65_536
	// MaxBatch is the maximum number of commands in a batch, MaxBatchBytes the maximum batch size.
	MaxBatch      = 16_384
	MaxBatchBytes = 16 << 20
	// MaxList is the maximum number of sessions in a command.
	MaxList = 10_000
	// MaxPage is the maximum number of entries in a read, and so the maximum number read under one hold of the read
	// lock.
	MaxPage = 1000
)

// Forever is the acquire timeout that never fires, in milliseconds. As a count and as a limit Forever means "all".
const Forever = ^uint64(0)

// Exclusive is the count that acquires a semaphore with an unbounded limit for a single owner.
const Exclusive = ^uint64(0)
