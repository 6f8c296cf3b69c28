package protocol

import "strconv"

// AcquireOutcome says what became of an acquire when it was answered.
type AcquireOutcome uint8

const (
	// NotAcquired: the session neither owns nor waits. The acquire was not to wait, or, sent again after
	// a reconnect, has timed out meanwhile.
	NotAcquired AcquireOutcome = 0
	// Acquired: the session owns what it asked for.
	Acquired AcquireOutcome = 1
	// Queued: the session waits, and the outcome will be pushed.
	Queued AcquireOutcome = 2
)

var acquireOutcomeNames = [...]string{
	NotAcquired: "NOT_ACQUIRED",
	Acquired:    "ACQUIRED",
	Queued:      "QUEUED",
}

// String returns the outcome as the docs write it, or its number where it is not known here.
func (o AcquireOutcome) String() string {
	if int(o) < len(acquireOutcomeNames) {
		return acquireOutcomeNames[o]
	}
	return "ACQUIRE_OUTCOME_" + strconv.Itoa(int(o))
}
