package protocol

// Acquire acquires units of a semaphore, or changes an acquire for which the session is an owner or waiter already. The
// host answers at once. After the answer Queued, exactly one of Granted, TimedOut and Aborted follows with the
// acquire's request id, as long as connection and session live.
type Acquire struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Count is the number of units: 1 up to the semaphore's limit, or Shared or Exclusive for an ephemeral semaphore.
	Count uint64
	// WaitMillis is how long to wait: 0 not at all, Forever as long as the session lives, else at most a day.
	WaitMillis uint64 `wire:"timeout MaxAcquireWaitMillis"`
	// Data is attached to the owner or waiter for others to read.
	Data []byte `wire:"data"`
	// Ephemeral creates the semaphore with its first owner and deletes it with its last.
	Ephemeral bool
}

// AcquireAnswer answers an Acquire.
type AcquireAnswer struct {
	Outcome AcquireOutcome
	// OrderID is the owner's fencing token, or the waiter's position; 0 for neither.
	OrderID uint64
	// SemaphoreLimit is a persistent semaphore's limit; 0 for an ephemeral semaphore, and if the host does not report a
	// limit.
	SemaphoreLimit uint64
}

// Granted is pushed with a queued Acquire's id: the session owns the requested units.
type Granted struct {
	OrderID uint64
}

// TimedOut is pushed with a queued Acquire's id: the timeout has passed, and the session no longer waits.
type TimedOut struct{}

// Aborted is pushed with a queued Acquire's id, as the last message for that request. With StatusAborted the reason in
// the result names the cause. With StatusMoved or StatusUnavailable the session may still wait, or own, at another
// host: the client sends the acquire again, under its sequence.
type Aborted struct {
	Result Result
}

// AcquireOutcome is an acquire's outcome when it is answered.
type AcquireOutcome uint8

const (
	// NotAcquired: the session neither owns nor waits. The acquire had timeout 0, or has timed out and was sent again
	// after a reconnect.
	NotAcquired AcquireOutcome = 0
	// Acquired: the session owns the requested units.
	Acquired AcquireOutcome = 1
	// Queued: the session waits, and the outcome will be pushed.
	Queued AcquireOutcome = 2
)

// String returns the outcome as the docs write it, or the number if unknown.
func (o AcquireOutcome) String() string {
	return nameOf(o, "ACQUIRE_OUTCOME", "NOT_ACQUIRED", "ACQUIRED", "QUEUED")
}

// Release releases everything the session owns of a semaphore, or ends the session's wait.
type Release struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// OrderID, if not 0, is the fencing token: the release is refused unless the session owns or waits under that order
	// id.
	OrderID uint64
}

// ReleaseAnswer answers a Release.
type ReleaseAnswer struct {
	// Released is set if the session had something to release.
	Released bool
}
