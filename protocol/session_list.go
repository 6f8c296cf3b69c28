package protocol

// Session is a client's lease in a node, as listings show it.
type Session struct {
	ID            uint64
	NodeID        uint64
	TimeoutMillis uint64
	Description   []byte
	// Attached: some connection holds the session.
	Attached bool
	// Owned and Waiting count the semaphores that the session owns a part of, and those that it waits
	// for, over the shards that the host that answers holds.
	Owned   uint64
	Waiting uint64
	// SinceMillis is when the session was made, in milliseconds since 1970 by the wall clock of a host; 0 where that is
	// not known. It is for people, as is the client.
	SinceMillis uint64
	Client      ClientInfo
}

// ClientInfo says of a session's client from where it speaks and what it calls itself. Texts are empty where they are
// not known.
type ClientInfo struct {
	// Address is the one that the client's connection comes from, as the host sees it.
	Address []byte
	// Name and Version are those of its HELLO.
	Name    []byte
	Version []byte
}

func (i *ClientInfo) fields(c *codec) {
	c.text("address", &i.Address, MaxAddressBytes)
	c.text("name", &i.Name, MaxClientNameBytes)
	c.text("version", &i.Version, MaxVersionBytes)
}

func (s *Session) item(c *codec) { c.record("", s.fields) }

func (s *Session) fields(c *codec) {
	c.uint("id", &s.ID)
	c.uint("node_id", &s.NodeID)
	c.uint("timeout_ms", &s.TimeoutMillis)
	c.text("description", &s.Description, MaxDescriptionBytes)
	c.bool("attached", &s.Attached)
	c.uint("owned", &s.Owned)
	c.uint("waiting", &s.Waiting)
	c.uint("since_ms", &s.SinceMillis)
	c.record("client", s.Client.fields)
}

// Sessions is a list of sessions.
type Sessions = List[Session, *Session]

// SessionDescribe asks for a session. It goes to its home shard.
type SessionDescribe struct {
	SessionID uint64
}

// Kind returns KindSessionDescribe.
func (*SessionDescribe) Kind() Kind { return KindSessionDescribe }

func (m *SessionDescribe) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
}

// SessionDescribeAnswer answers a SessionDescribe.
type SessionDescribeAnswer struct {
	Session Session
}

// Kind returns the kind of the answer to a SessionDescribe.
func (*SessionDescribeAnswer) Kind() Kind { return KindSessionDescribe.Answer() }

func (m *SessionDescribeAnswer) answerFields(c *codec) {
	c.record("session", m.Session.fields)
}

// SessionList asks for the sessions of a node whose home is one shard, ordered by id. All sessions of a
// node are the lists of all data shards.
type SessionList struct {
	NodeID  uint64
	ShardID uint64
	// After is the Next of the page before; 0 for the first page.
	After uint64
	// Limit is the most sessions that the page may have; 0 leaves it to the host.
	Limit uint64
}

// Kind returns KindSessionList.
func (*SessionList) Kind() Kind { return KindSessionList }

func (m *SessionList) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.uint("shard_id", &m.ShardID)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
}

// SessionListAnswer answers a SessionList.
type SessionListAnswer struct {
	Sessions Sessions
	// Next is where the next page begins; 0 where this is the last one.
	Next uint64
}

// Kind returns the kind of the answer to a SessionList.
func (*SessionListAnswer) Kind() Kind { return KindSessionList.Answer() }

func (m *SessionListAnswer) answerFields(c *codec) {
	m.Sessions.list(c, "sessions")
	c.uint("next", &m.Next)
}

// SessionHoldings asks what a session owns and waits for in one shard, ordered by order id. All that a
// session holds are the lists of all data shards.
type SessionHoldings struct {
	SessionID uint64
	ShardID   uint64
	// After is the Next of the page before; 0 for the first page.
	After uint64
	// Limit is the most holdings that the page may have; 0 leaves it to the host.
	Limit       uint64
	Consistency Consistency
}

// Kind returns KindSessionHoldings.
func (*SessionHoldings) Kind() Kind { return KindSessionHoldings }

func (m *SessionHoldings) requestFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("shard_id", &m.ShardID)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	enum(c, "consistency", &m.Consistency)
}

// SessionHoldingsAnswer answers a SessionHoldings.
type SessionHoldingsAnswer struct {
	Holdings Holdings
	// Next is where the next page begins; 0 where this is the last one.
	Next uint64
}

// Kind returns the kind of the answer to a SessionHoldings.
func (*SessionHoldingsAnswer) Kind() Kind { return KindSessionHoldings.Answer() }

func (m *SessionHoldingsAnswer) answerFields(c *codec) {
	m.Holdings.list(c, "holdings")
	c.uint("next", &m.Next)
}

// Holdings is a list of holdings.
type Holdings = List[Holding, *Holding]

// Holding is what a session owns of a semaphore, or waits for, or its part in an object of another kind.
type Holding struct {
	Name    []byte
	OrderID uint64
	Count   uint64
	// Waiting: the session is a waiter, not an owner.
	Waiting bool
	// SinceMillis is when it began to own, or to wait, in milliseconds since 1970 by the wall clock of a host; 0 where
	// that is not known. It is for people.
	SinceMillis uint64
	// ObjectKind is the kind of the object, and Role what the session is to it: a word of that kind, empty for
	// semaphores.
	ObjectKind ObjectKind
	Role       []byte
}

func (h *Holding) item(c *codec) { c.record("", h.fields) }

func (h *Holding) fields(c *codec) {
	c.text("name", &h.Name, MaxNameBytes)
	c.uint("order_id", &h.OrderID)
	c.uint("count", &h.Count)
	c.bool("waiting", &h.Waiting)
	c.uint("since_ms", &h.SinceMillis)
	enum(c, "object_kind", &h.ObjectKind)
	c.text("role", &h.Role, MaxRoleBytes)
}

// HoldingLost is pushed, with id 0, when a session ceases to own a semaphore, or to take part in a rollout, though it
// neither released nor left it nor ended: the object was deleted by force.
type HoldingLost struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte
	// OrderID is the one that the owner had.
	OrderID uint64
	Reason  AbortReason
	// ObjectKind is the kind of the object; 0 stands for a semaphore.
	ObjectKind ObjectKind
}

// Kind returns KindHoldingLost.
func (*HoldingLost) Kind() Kind { return KindHoldingLost }

func (m *HoldingLost) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("order_id", &m.OrderID)
	enum(c, "reason", &m.Reason)
	enum(c, "object_kind", &m.ObjectKind)
}
