package protocol

// Acquire asks for a part of a semaphore, or changes what the session owns or waits for already. The host answers at
// once. After the answer Queued, exactly one of Granted, TimedOut and Aborted follows with the request id of the
// acquire, as long as connection and session live.
type Acquire struct {
	Mutation
	NodeID uint64
	Name   []byte `wire:"text MaxNameBytes"`
	// Count is the wanted part: 1 up to the semaphore's limit, or Shared or Exclusive of an ephemeral semaphore.
	Count uint64
	// TimeoutMillis is how long to wait: 0 not at all, Forever as long as the session lives, else at most a day.
	WaitMillis uint64 `wire:"timeout MaxAcquireWaitMillis"`
	// Data is attached to the owner or waiter for others to read.
	Data []byte `wire:"data"`
	// Ephemeral: the semaphore comes into being with its first owner and goes with its last.
	Ephemeral bool
}

// AcquireAnswer answers an Acquire.
type AcquireAnswer struct {
	Outcome AcquireOutcome
	// OrderID is the fencing token of the owner, or the place of the waiter; 0 for neither.
	OrderID uint64
	// SemaphoreLimit is the limit of a persistent semaphore; 0 for an ephemeral semaphore, and where the host does not
	// say.
	SemaphoreLimit uint64
}

// Granted is pushed with the id of a queued Acquire: the session owns the wanted part.
type Granted struct {
	OrderID uint64
}

// TimedOut is pushed with the id of a queued Acquire: the timeout has passed, and the session waits no longer.
type TimedOut struct{}

// Aborted is pushed with the id of a queued Acquire, as the last message for that request. With StatusAborted the
// reason in the result names the cause. With StatusMoved or StatusUnavailable the session may still wait, or own, at
// another host: the client sends the acquire again, under its sequence.
type Aborted struct {
	Result Result
}

// AcquireOutcome is the outcome of an acquire at the time of the answer.
type AcquireOutcome uint8

const (
	// NotAcquired: the session neither owns nor waits. The acquire was not to wait, or has timed out and was sent again
	// after a reconnect.
	NotAcquired AcquireOutcome = 0
	// Acquired: the session owns the wanted part.
	Acquired AcquireOutcome = 1
	// Queued: the session waits, and the outcome will be pushed.
	Queued AcquireOutcome = 2
)

// String returns the outcome as the docs write it, or the number of an unknown outcome.
func (o AcquireOutcome) String() string {
	return nameOf(o, "ACQUIRE_OUTCOME", "NOT_ACQUIRED", "ACQUIRED", "QUEUED")
}

// Release gives back everything that the session owns of a semaphore, or ends the waiting of the session.
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
	// Released: the session had something to release.
	Released bool
}
