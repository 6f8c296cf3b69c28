package shard

// ObjectView is an object in listings that cover all kinds.
type ObjectView struct {
	Name     string
	Kind     ObjectKind
	Revision Revision
	Links    int // holdings: sessions that own the object, belong to it or wait for it
}

// SessionView is a session, for readers.
type SessionView struct {
	ID      SessionID
	Node    NodeID
	Home    bool // this shard is the home; for a remote session the next three are zero
	Timeout uint64
	Details string // what the client reports: an encoded session.Details
	Keyed   bool   // has a protection key
	Owns    int    // number of holdings in this shard
	Waits   int
	Created uint64 // wall clock, milliseconds since 1970; 0 if unknown, and for remote sessions
	Client  ClientState
}

// Holding is a session's part in an object.
type Holding struct {
	Name string
	Kind ObjectKind
	Role string // the session's relation to the object, in a word for people
	LinkView
}

// ObjectName names an object in the shard.
type ObjectName struct {
	Node NodeID
	Name string
}

// Counters are the last numbers a shard has issued.
type Counters struct {
	LastOrder    OrderID
	LastRevision Revision
	LastSession  uint64
}

// Cursor is a position in a walk over one machine; zero is the start. A snapshot restore invalidates all cursors.
type Cursor uint32

// Counts is how much a machine holds.
type Counts struct {
	Nodes, Sessions, RemoteSessions, Objects, Links, Waiters int

	OfKind [MaxKinds]int // objects, by kind number

	Counters
	Term uint64
}

// Liveness is what a session directory knows about a session.
type Liveness uint8

const (
	// Unknown: the replica is too far behind to know. Ask again later, or on another host.
	Unknown Liveness = 0
	// Alive: the session was alive at the replica's last applied command.
	Alive Liveness = 1
	// Dead: the session has ended permanently.
	Dead Liveness = 2
)

// Directory answers whether sessions are alive, for sessions from many shards. The answer must come from a replica of
// the session's home shard.
type Directory interface {
	Liveness(id SessionID) Liveness
}

// Loss is how many semaphores were deleted while a remote session owned them.
type Loss struct {
	Session SessionID `json:"id"`
	Count   uint64    `json:"count"`
}
