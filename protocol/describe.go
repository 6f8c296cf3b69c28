package protocol

// SemaphoreDescribe asks for a semaphore, and for a page with its owners and waiters, and may set a one-shot watch.
type SemaphoreDescribe struct {
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// IncludeOwners and IncludeWaiters ask for the lists.
	IncludeOwners  bool
	IncludeWaiters bool
	Consistency    Consistency
	// After is the previous page's Next; 0 for the first page.
	After uint64
	// Limit is the maximum number of owners and waiters on the page; 0 lets the host choose.
	Limit uint64
	// WatchData and WatchOwners set a one-shot watch for the session SessionID, which must be attached over or bound to
	// this connection. The watch replaces the session's older watch on the semaphore.
	WatchData   bool
	WatchOwners bool
	SessionID   uint64
	// Generation is the highest generation known to the client for the semaphore's slot; see Moved.
	Generation uint64
}

// SemaphoreDescribeAnswer answers a SemaphoreDescribe.
type SemaphoreDescribeAnswer struct {
	// Semaphore has its data on the first page only.
	Semaphore Semaphore
	// Owners and Waiters are sorted by order id; every owner comes before every waiter.
	Owners  Owners
	Waiters Waiters
	// Next is the start of the next page; 0 on the last page. Pages with equal revisions show the owners at the same
	// time.
	Next uint64
	// WatchAdded is set if a one-shot watch was set.
	WatchAdded bool
}

// WatchChanged is pushed with the id of a SemaphoreDescribe that set a watch, and ends the watch. Both flags are true
// after the semaphore was deleted. Both are false if the watch ended and a change may be unknown, so the client must
// describe the semaphore again.
type WatchChanged struct {
	Data   bool
	Owners bool
}

// Owner is a session that owns units of a semaphore.
type Owner struct {
	// OrderID is the number the session got on joining: its fencing token.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	// Data is what the session attached to its acquire.
	Data []byte `wire:"data"`
	// SinceMillis is when the session became an owner, in milliseconds since 1970 by a host's wall clock; 0 if unknown.
	// SinceMillis and Client are informational, and appear only in a SEMAPHORE_DESCRIBE.
	SinceMillis uint64
	Client      ClientInfo
}

// Owners is a list of owners.
type Owners = List[Owner, *Owner]

// Waiter is a session that waits for units of a semaphore.
type Waiter struct {
	// OrderID is the number the session got on joining: its queue position.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	// Data is what the session attached to its acquire.
	Data []byte `wire:"data"`
	// TimeoutMillis is the timeout of the session's latest acquire.
	TimeoutMillis uint64
	// SinceMillis is when the session began to wait, in milliseconds since 1970 by a host's wall clock; 0 if unknown.
	// SinceMillis and Client are informational.
	SinceMillis uint64
	Client      ClientInfo
}

// Waiters is a list of waiters.
type Waiters = List[Waiter, *Waiter]
