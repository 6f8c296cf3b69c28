package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// State is everything that a machine holds, written out plainly: for comparing replicas, for tests, and for tools
// that inspect files on disk. Lists are sorted, so that equal machines give equal states.
type State struct {
	LastOrder    OrderID
	LastRevision Revision
	LastSession  uint64
	Term         uint64
	Now          uint64 // the time of the shard in milliseconds, and the time when the term began
	TimeBase     uint64
	Level        level.Level
	Nodes        []NodeState      // by id
	Sessions     []SessionState   // by id
	Semaphores   []SemaphoreState // by node, then name
	Objects      []ObjectState    // of kinds other than semaphores: by node, then name
	Pending      []PendingState   // in the order of continuation
	ObjectLimit  uint64           // quotas of the shard as set: 0 means the default
	ByteLimit    uint64
	Group        Group // zeros before the first renewal of the shard
}

// PendingState is unfinished work of commands: an ended session that still has links, or a semaphore. The semaphore
// is deleted and still has links, or has waiters that fit.
type PendingState struct {
	Session  SessionID // zero for a semaphore
	Node     NodeID
	Name     string
	Deleting bool
}

// NodeState is a node that the shard knows.
type NodeState struct {
	ID          NodeID
	Dropping    bool
	ObjectLimit uint64 // quotas of the node as set: 0 means the default
	ByteLimit   uint64
}

// SessionState is one session, at home or a guest.
type SessionState struct {
	ID            SessionID
	Node          NodeID
	Home          bool
	Timeout       uint64 // milliseconds; 0 for guests, as are the next two
	Details       string
	Key           string
	Applied       uint64 // highest number applied
	Acked         uint64
	SequenceSpace uint64        // the latest space of numbers; 0 without a space, and for guests
	Losses        uint64        // how many semaphores were deleted under a guest that owned them
	Answers       []AnswerState // by number
	Created       uint64        // wall clock, milliseconds since 1970; 0 if unknown, and for guests
	Client        ClientState   // empty for guests
}

// ClientState describes a session's client.
type ClientState struct {
	Address string
	Name    string
	Version string
}

// AnswerState is an answer that is kept until the session acknowledges the answer.
type AnswerState struct {
	Number   uint64
	Status   protocol.Status
	Flags    EffectFlags
	Abort    protocol.AbortReason
	Order    OrderID
	Revision Revision
	Quota    Quota // the reason of a refusal
	Body     string
	Asked    uint64 // hash of the request; 0 if unknown
	Slot     uint16 // the slot of the object plus one; 0 if unknown
}

// ObjectState is one object of a kind other than semaphores, with the links of its sessions.
type ObjectState struct {
	Node     NodeID
	Name     string
	Kind     ObjectKind
	Revision Revision
	Body     string      // the kind's state of the object, in the kind's own words
	Links    []LinkState // by order id
}

// LinkState is the part of one session in one object.
type LinkState struct {
	Session SessionID
	Order   OrderID
	Count   uint64
	Data    string
	Timeout uint64 // of the waiting or the last waiting acquire: milliseconds or Forever
	Number  uint64 // of the latest acquire
	Owner   bool
	Body    string // the kind's state of the link, in the kind's own words
	// Since is when the link became an owner or a waiter: wall clock, milliseconds since 1970; 0 if unknown
	Since uint64
	// Deadline is the time of the shard at which the wait ends; 0 for an owner and for a wait without an end
	Deadline uint64
}

// SemaphoreState is a semaphore with its owners and waiters.
type SemaphoreState struct {
	Node NodeID
	SemaphoreView
	Links []LinkState // by order id: the owners, then the waiters
}
