package protocol

import kind "github.com/signalbox/signalbox/protocol/session"

// Session is a client's lease in a node, as listings show it.
type Session struct {
	ID            uint64
	NodeID        uint64
	TimeoutMillis uint64
	Details       kind.Details
	// Attached is set if a connection has the session.
	Attached bool
	// Owned and Waiting count the semaphores the session owns or waits for, over all shards with reachable hosts.
	Owned   uint64
	Waiting uint64
	// SinceMillis is when the session was created, in milliseconds since 1970 by a host's wall clock; 0 if unknown.
	// SinceMillis and Client are informational.
	SinceMillis uint64
	Client      ClientInfo
}

// ClientInfo describes a session's client: its address, name and version. Unknown texts are empty.
type ClientInfo struct {
	// Address is the source address of the client's connection, as the host sees it.
	Address []byte `wire:"text MaxAddressBytes"`
	// Name and Version are the name and the version in the client's HELLO.
	Name    []byte `wire:"text MaxClientNameBytes"`
	Version []byte `wire:"text MaxVersionBytes"`
}

// Sessions is a list of sessions.
type Sessions = List[Session, *Session]

// SessionDescribe asks for a session. The request goes to the session's home shard.
type SessionDescribe struct {
	SessionID uint64
}

// SessionDescribeAnswer answers a SessionDescribe.
type SessionDescribeAnswer struct {
	Session Session
}

// SessionList asks for the sessions in a node, sorted by id.
type SessionList struct {
	NodeID  uint64
	ShardID uint64
	// After is the previous page's Next; 0 for the first page.
	After uint64
	// Limit is the maximum number of sessions on the page; 0 lets the host choose.
	Limit uint64
	ListSlots
}

// SessionListAnswer answers a SessionList.
type SessionListAnswer struct {
	Sessions Sessions
	// Next is the start of the next page; 0 on the last page.
	Next uint64
	// Missing lists the requested slots that the shard does not have.
	Missing SlotRanges
}

// SessionHoldings asks what a session owns and waits for, sorted by order id.
type SessionHoldings struct {
	SessionID uint64
	ShardID   uint64
	// After is the previous page's Next; 0 for the first page.
	After uint64
	// Limit is the maximum number of holdings on the page; 0 lets the host choose.
	Limit       uint64
	Consistency Consistency
	ListSlots
}

// SessionHoldingsAnswer answers a SessionHoldings.
type SessionHoldingsAnswer struct {
	Holdings Holdings
	// Next is the start of the next page; 0 on the last page.
	Next uint64
	// Missing lists the requested slots that the shard does not have.
	Missing SlotRanges
}

// Holdings is a list of holdings.
type Holdings = List[Holding, *Holding]

// Holding is a session's ownership of, or wait for, a semaphore, or its participation in another object.
type Holding struct {
	Name    []byte `wire:"text MaxNameBytes"`
	OrderID uint64
	Count   uint64
	// Waiting is set if the session is a waiter, not an owner.
	Waiting bool
	// SinceMillis is when the session began to own or to wait, in milliseconds since 1970 by a host's wall clock,
	// informational; 0 if unknown.
	SinceMillis uint64
	// ObjectKind is the object's kind, and Role the session's role in the object: a word defined by the kind, empty for
	// semaphores.
	ObjectKind ObjectKind
	Role       []byte `wire:"text MaxRoleBytes"`
}

// HoldingLost is pushed, with id 0, when a holding's object is deleted by force: the session ceases to own a semaphore,
// or to take part in a rollout, without having released or left it. If the name is empty and slots are set, a shard was
// rebuilt: the session loses what it holds in the slots, as described in LostHoldings, with the order id as the fence.
// If both are empty, losses may have been missed: the client should query the session's holdings.
type HoldingLost struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte `wire:"text MaxNameBytes"`
	// OrderID is the lost holding's order id, or the fence of a rebuilt shard.
	OrderID uint64
	Reason  AbortReason
	// ObjectKind is the object's kind; 0 means a semaphore.
	ObjectKind ObjectKind
	// Slots are a rebuilt shard's slots, as in LostHoldings.
	Slots []byte `wire:"bytes SlotSetBytes"`
}
