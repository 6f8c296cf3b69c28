package protocol

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

// Holding is what a session owns of a semaphore, or waits for.
type Holding struct {
	Name    []byte
	OrderID uint64
	Count   uint64
	// Waiting: the session is a waiter, not an owner.
	Waiting bool
	// SinceMillis is when it began to own, or to wait, in milliseconds since 1970 by the wall clock of a host; 0 where
	// that is not known. It is for people.
	SinceMillis uint64
}

func (h *Holding) item(c *codec) { c.record("", h.fields) }

func (h *Holding) fields(c *codec) {
	c.text("name", &h.Name, MaxNameBytes)
	c.uint("order_id", &h.OrderID)
	c.uint("count", &h.Count)
	c.bool("waiting", &h.Waiting)
	c.uint("since_ms", &h.SinceMillis)
}

// HoldingLost is pushed, with id 0, when a session ceases to own a semaphore though it neither released
// it nor ended: somebody deleted the semaphore by force.
type HoldingLost struct {
	SessionID uint64
	NodeID    uint64
	Name      []byte
	// OrderID is the one that the owner had.
	OrderID uint64
	Reason  AbortReason
}

// Kind returns KindHoldingLost.
func (*HoldingLost) Kind() Kind { return KindHoldingLost }

func (m *HoldingLost) pushFields(c *codec) {
	c.uint("session_id", &m.SessionID)
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.uint("order_id", &m.OrderID)
	enum(c, "reason", &m.Reason)
}
