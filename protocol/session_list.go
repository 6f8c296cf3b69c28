package protocol

import kind "github.com/signalbox/signalbox/protocol/session"

// Session is a client's lease in a node, as listings show it.
type Session struct {
	ID            uint64
	NodeID        uint64
	TimeoutMillis uint64
	Details       kind.Details
	// Attached: some connection has the session.
	Attached bool
	// Owned and Waiting count the semaphores that the session owns a part of or waits for, over all shards whose hosts
	// could be asked.
	Owned   uint64
	Waiting uint64
	// SinceMillis is the moment when the session was made, in milliseconds since 1970 by the wall clock of a host; 0
	// for an unknown moment. Both SinceMillis and Client are for people.
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

// SessionList asks for the sessions with a shard as their home in a node, ordered by id. All sessions of a node are
// the lists of all data shards.
type SessionList struct {
	NodeID  uint64
	ShardID uint64
	// After is the Next of the page before; 0 for the first page.
	After uint64
	// Limit is the most sessions that the page may have; 0 leaves the choice to the host.
	Limit uint64
}

// SessionListAnswer answers a SessionList.
type SessionListAnswer struct {
	Sessions Sessions
	// Next is the start of the next page; 0 on the last page.
	Next uint64
}

// SessionHoldings asks what a session owns and waits for in one shard, ordered by order id. All holdings of a session
// are the lists of all data shards.
type SessionHoldings struct {
	SessionID uint64
	ShardID   uint64
	// After is the Next of the page before; 0 for the first page.
	After uint64
	// Limit is the most holdings that the page may have; 0 leaves the choice to the host.
	Limit       uint64
	Consistency Consistency
}

// SessionHoldingsAnswer answers a SessionHoldings.
type SessionHoldingsAnswer struct {
	Holdings Holdings
	// Next is the start of the next page; 0 on the last page.
	Next uint64
}

// Holdings is a list of holdings.
type Holdings = List[Holding, *Holding]

// Holding is a session's part of a semaphore, owned or waited for, or a session's part in an object of another kind.
type Holding struct {
	Name    []byte `wire:"text MaxNameBytes"`
	OrderID uint64
	Count   uint64
	// Waiting: the session is a waiter, not an owner.
	Waiting bool
	// SinceMillis is the moment when the session began to own or to wait, in milliseconds since 1970 by the wall clock
	// of a host, for people; 0 for an unknown moment.
	SinceMillis uint64
	// ObjectKind is the kind of the object, and Role the session's role in the object: a word of the kind, empty for
	// semaphores.
	ObjectKind ObjectKind
	Role       []byte `wire:"text MaxRoleBytes"`
}

// HoldingLost is pushed, with id 0, when the object of a holding is deleted by force: the session ceases to own a
// semaphore, or to take part in a rollout, without a release, a leave or an end of its own. Without a name, and
// with an order id, a shard was rebuilt: the session ceases to own all that it owned there under lower order ids,
// which are of the class of the order id. Without both, losses may have been missed: the client is to look at what the
// session holds.
type HoldingLost struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte `wire:"text MaxNameBytes"`
	// OrderID is the order id of the lost holding.
	OrderID uint64
	Reason  AbortReason
	// ObjectKind is the kind of the object; 0 stands for a semaphore.
	ObjectKind ObjectKind
}
