package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// State is everything that a machine holds, written out plainly: for comparing replicas, for tests,
// and for looking into what is on disk. Lists are sorted, so that equal machines give equal states.
type State struct {
	LastOrder    OrderID
	LastRevision Revision
	LastSession  uint64
	Term         uint64
	Level        level.Level
	Nodes        []NodeState      // by id
	Sessions     []SessionState   // by id
	Semaphores   []SemaphoreState // by node, then name
	Pending      []PendingState   // in the order in which it is gone on with
	ObjectLimit  uint64           // quotas of the shard, as they were set: 0 means the default
	ByteLimit    uint64
}

// PendingState is something that commands have begun and not come to the end of: a session that has ended and still has
// links, or a semaphore. That is deleted and still has links, or has waiters that fit.
type PendingState struct {
	Session  SessionID // zero where it is a semaphore
	Node     NodeID
	Name     string
	Deleting bool
}

// NodeState is a node that is known in the shard.
type NodeState struct {
	ID          NodeID
	Dropping    bool
	ObjectLimit uint64 // quotas of the node, as they were set: 0 means the default
	ByteLimit   uint64
}

// SessionState is one session: at home, or a guest.
type SessionState struct {
	ID          SessionID
	Node        NodeID
	Home        bool
	Timeout     uint64 // milliseconds; 0 for guests, as are the next two
	Description string
	Key         string
	Applied     uint64 // highest number applied
	Acked       uint64
	Answers     []AnswerState // by number
	Created     uint64        // wall clock, milliseconds since 1970; 0 where it is not known, and for guests
	Client      ClientState   // empty for guests
}

// ClientState is what is known of a session's client.
type ClientState struct {
	Address string
	Name    string
	Version string
}

// AnswerState is an answer that is kept until the session says that it saw it.
type AnswerState struct {
	Number   uint64
	Status   protocol.Status
	Flags    EffectFlags
	Abort    protocol.AbortReason
	Order    OrderID
	Revision Revision
	Quota    Quota // that the mutation was refused for
}

// SemaphoreState is one semaphore with its owners and waiters.
type SemaphoreState struct {
	Node      NodeID
	Name      string
	Data      string
	Limit     uint64
	Ephemeral bool
	Revision  Revision
	Links     []LinkState // by order id: the owners, then the waiters
}

// LinkState is one session's part in one semaphore.
type LinkState struct {
	Session SessionID
	Order   OrderID
	Count   uint64
	Data    string
	Timeout uint64 // of the acquire that waits, or waited last: milliseconds or Forever
	Number  uint64 // of the latest acquire
	Owner   bool
	Since   uint64 // when it became what it is, owner or waiter: wall clock, milliseconds since 1970; 0 where it is not known
}
