package protocol

// Owner is a session that owns a part of a semaphore.
type Owner struct {
	// OrderID is the number that the session got on joining: its fencing token.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	// Data is what the session attached to its acquire.
	Data []byte
	// SinceMillis is when it became an owner, in milliseconds since 1970 by the wall clock of a host; 0 where that is not
	// known. It is for people, as is the client. Only a SEMAPHORE_DESCRIBE tells them.
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
	// TimeoutMillis is that of the session's latest acquire.
	TimeoutMillis uint64
	// SinceMillis is when it began to wait, in milliseconds since 1970 by the wall clock of a host; 0 where that is not
	// known. It is for people, as is the client.
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
