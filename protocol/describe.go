package protocol

// SemaphoreDescribe asks for a semaphore, and for a page of its owners and waiters, and may leave a one-shot watch.
type SemaphoreDescribe struct {
	NodeID uint64
	Name   []byte
	// IncludeOwners and IncludeWaiters ask for the lists.
	IncludeOwners  bool
	IncludeWaiters bool
	Consistency    Consistency
	// After is the Next of the page before; 0 for the first page.
	After uint64
	// Limit is the most owners and waiters that the page may have; 0 leaves the choice to the host.
	Limit uint64
	// WatchData and WatchOwners leave a one-shot watch for the session SessionID, which must be attached over or bound
	// to this connection. The watch replaces an older watch of the session on the semaphore.
	WatchData   bool
	WatchOwners bool
	SessionID   uint64
}

func (m *SemaphoreDescribe) requestFields(c *codec) {
	c.uint("node_id", &m.NodeID)
	c.text("name", &m.Name, MaxNameBytes)
	c.bool("include_owners", &m.IncludeOwners)
	c.bool("include_waiters", &m.IncludeWaiters)
	enum(c, "consistency", &m.Consistency)
	c.uint("after", &m.After)
	c.uint("limit", &m.Limit)
	c.bool("watch_data", &m.WatchData)
	c.bool("watch_owners", &m.WatchOwners)
	c.uint("session_id", &m.SessionID)
}

// SemaphoreDescribeAnswer answers a SemaphoreDescribe.
type SemaphoreDescribeAnswer struct {
	// Semaphore has its data on the first page only.
	Semaphore Semaphore
	// Owners and Waiters are ordered by order id; every owner comes before every waiter.
	Owners  Owners
	Waiters Waiters
	// Next is the start of the next page; 0 on the last page. Pages of equal revisions show the owners at one moment.
	Next uint64
	// WatchAdded: a one-shot watch was left.
	WatchAdded bool
}

func (m *SemaphoreDescribeAnswer) answerFields(c *codec) {
	c.record("semaphore", m.Semaphore.fields)
	m.Owners.list(c, "owners")
	m.Waiters.list(c, "waiters")
	c.uint("next", &m.Next)
	c.bool("watch_added", &m.WatchAdded)
}

// Changed is pushed with the id of a SemaphoreDescribe that left a watch, and ends the watch. Both flags are true after
// the semaphore's deletion. Both are false when the watch ended and a change may be unknown, so that the client must
// describe the semaphore again.
type Changed struct {
	Data   bool
	Owners bool
}

func (m *Changed) pushFields(c *codec) {
	c.bool("data", &m.Data)
	c.bool("owners", &m.Owners)
}

// Owner is a session that owns a part of a semaphore.
type Owner struct {
	// OrderID is the number that the session got on joining: its fencing token.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	// Data is what the session attached to its acquire.
	Data []byte
	// SinceMillis is the moment when the session became an owner, in milliseconds since 1970 by the wall clock of a
	// host; 0 for an unknown moment. Both SinceMillis and Client are for people, and only a SEMAPHORE_DESCRIBE shows
	// them.
	SinceMillis uint64
	Client      ClientInfo
}

func (o *Owner) item(c *codec) { c.record("", o.fields) }

func (o *Owner) fields(c *codec) {
	c.uint("order_id", &o.OrderID)
	c.uint("session_id", &o.SessionID)
	c.uint("count", &o.Count)
	c.data("data", &o.Data)
	c.uint("since_ms", &o.SinceMillis)
	c.record("client", o.Client.fields)
}

// Owners is a list of owners.
type Owners = List[Owner, *Owner]

// Waiter is a session that waits for a part of a semaphore.
type Waiter struct {
	// OrderID is the number that the session got on joining: its place in the queue.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	// Data is what the session attached to its acquire.
	Data []byte
	// TimeoutMillis is the timeout of the session's latest acquire.
	TimeoutMillis uint64
	// SinceMillis is the moment when the session began to wait, in milliseconds since 1970 by the wall clock of a host;
	// 0 for an unknown moment. Both SinceMillis and Client are for people.
	SinceMillis uint64
	Client      ClientInfo
}

func (w *Waiter) item(c *codec) { c.record("", w.fields) }

func (w *Waiter) fields(c *codec) {
	c.uint("order_id", &w.OrderID)
	c.uint("session_id", &w.SessionID)
	c.uint("count", &w.Count)
	c.data("data", &w.Data)
	c.uint("timeout_ms", &w.TimeoutMillis)
	c.uint("since_ms", &w.SinceMillis)
	c.record("client", w.Client.fields)
}

// Waiters is a list of waiters.
type Waiters = List[Waiter, *Waiter]
