package protocol

// SemaphoreDescribe asks for a semaphore, and for a page of its owners and waiters, and may leave a one-shot watch.
type SemaphoreDescribe struct {
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
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
	// Generation is the highest generation of the semaphore's slot known to the client; see Moved.
	Generation uint64
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

// WatchChanged is pushed with the id of a SemaphoreDescribe that left a watch, and ends the watch. Both flags are true
// after the semaphore's deletion. Both are false when the watch ended and a change may be unknown, so that the client
// must describe the semaphore again.
type WatchChanged struct {
	Data   bool
	Owners bool
}

// Owner is a session that owns a part of a semaphore.
type Owner struct {
	// OrderID is the number that the session got on joining: its fencing token.
	OrderID   uint64
	SessionID uint64
	Count     uint64
	// Data is what the session attached to its acquire.
	Data []byte `wire:"data"`
	// SinceMillis is the moment when the session became an owner, in milliseconds since 1970 by the wall clock of a
	// host; 0 for an unknown moment. Both SinceMillis and Client are for people, and only a SEMAPHORE_DESCRIBE shows
	// them.
	SinceMillis uint64
	Client      ClientInfo
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
	Data []byte `wire:"data"`
	// TimeoutMillis is the timeout of the session's latest acquire.
	TimeoutMillis uint64
	// SinceMillis is the moment when the session began to wait, in milliseconds since 1970 by the wall clock of a host;
	// 0 for an unknown moment. Both SinceMillis and Client are for people.
	SinceMillis uint64
	Client      ClientInfo
}

// Waiters is a list of waiters.
type Waiters = List[Waiter, *Waiter]
