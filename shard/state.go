package shard

import (
	"github.com/signalbox/signalbox/protocol"
	"github.com/signalbox/signalbox/protocol/level"
)

// State is everything a machine holds, in plain form: for comparing replicas, for tests, and for tools that inspect
// files on disk. Lists are sorted, so equal machines give equal states.
type State struct {
	LastOrder    OrderID
	LastRevision Revision
	LastSession  uint64
	Term         uint64
	Now          uint64 // shard time in milliseconds, and when the term began
	TimeBase     uint64
	Level        level.Level
	Nodes        []NodeState      // by id
	Sessions     []SessionState   // by id
	Semaphores   []SemaphoreState // by node, then name
	Objects      []ObjectState    // for kinds other than semaphores: by node, then name
	Pending      []PendingState   // in the order of continuation
	ObjectLimit  uint64           // the shard's quotas as set: 0 means the default
	ByteLimit    uint64
	Group        Group       // zeros before the first rebuild
	Slots        []SlotState // those that some slot command has changed, by slot
	SlotChanges  uint64      // the change count
}

// SlotState is a slot's record in the shard.
type SlotState struct {
	Slot       Slot
	State      string // as in the rules
	Generation uint64
	To         uint64 // the shard to which the slot is offered, or was given
	Seen       uint64 // highest generation heard of
	Why        string // reason for the last refusal
	Digest     uint64 // of the sealed or transferred content
}

// PendingState is unfinished work: an ended session with holdings left, or a semaphore. The semaphore is deleted with
// holdings left, or has waiters that fit.
type PendingState struct {
	Session  SessionID // zero for a semaphore
	Node     NodeID
	Name     string
	Deleting bool
}

// NodeState is a node the shard knows.
type NodeState struct {
	ID          NodeID
	Dropping    bool
	ObjectLimit uint64 // the node's quotas as set: 0 means the default
	ByteLimit   uint64
}

// SessionState is one session, at home or remote.
type SessionState struct {
	ID            SessionID
	Node          NodeID
	Home          bool
	Timeout       uint64 // milliseconds; 0 for remote sessions, as are the next two
	Details       string
	Key           string
	Applied       uint64 // highest number applied
	Acked         uint64
	SequenceSpace uint64        // the latest number space; 0 without a space, and for remote sessions
	Slots         []Slot        // slots in which the shard has answered a numbered command
	Losses        uint64        // how many semaphores were deleted while a remote session owned them
	Answers       []AnswerState // by number
	Created       uint64        // wall clock, milliseconds since 1970; 0 if unknown, and for remote sessions
	Client        ClientState   // empty for remote sessions
}

// ClientState describes a session's client.
type ClientState struct {
	Address string
	Name    string
	Version string
}

// AnswerState is an answer kept until the session acknowledges it.
type AnswerState struct {
	Number   uint64
	Status   protocol.Status
	Flags    EffectFlags
	Abort    protocol.AbortReason
	Order    OrderID
	Revision Revision
	Quota    Quota // why the command was refused
	Body     string
	Asked    uint64 // request hash; 0 if unknown
	Slot     uint16 // the object's slot plus one; 0 if unknown
}

// ObjectState is one object of a kind other than semaphores, with its holdings.
type ObjectState struct {
	Node     NodeID
	Name     string
	Kind     ObjectKind
	Revision Revision
	Body     string      // the object's kind state, formatted by the kind
	Links    []LinkState // by order id
}

// LinkState is one session's holding on one object.
type LinkState struct {
	Session SessionID
	Order   OrderID
	Count   uint64
	Data    string
	Timeout uint64 // for the present or the last waiting acquire: milliseconds or Forever
	Number  uint64 // the latest acquire's number
	Owner   bool
	Body    string // the holding's kind state, formatted by the kind
	// Since is when the session became an owner or a waiter: wall clock, milliseconds since 1970; 0 if unknown
	Since uint64
	// Deadline is the shard time at which the wait ends; 0 for an owner and for an unlimited wait
	Deadline uint64
}

// SemaphoreState is a semaphore with its owners and waiters.
type SemaphoreState struct {
	Node NodeID
	SemaphoreView
	Links []LinkState // by order id: the owners, then the waiters
}
