package protocol

// Status is the outcome of a request. The numbers are part of the protocol: they never change their
// meaning and are never used again.
type Status uint8

const (
	// StatusSuccess: the request was carried out. An acquire that timed out and a release of nothing
	// are successes too; their answers have flags for it.
	StatusSuccess Status = 0
	// StatusBadRequest: the request breaks a rule that no state can change. Nothing happened.
	StatusBadRequest Status = 1
	// StatusUnauthorized: the token does not give the right to do this. The connection stays open.
	StatusUnauthorized Status = 2
	// StatusNotFound: no such node, semaphore or watch.
	StatusNotFound Status = 3
	// StatusAlreadyExists: a persistent semaphore of that name is there; nothing was changed.
	StatusAlreadyExists Status = 4
	// StatusPreconditionFailed: the state forbids it: ephemeral and persistent mixed up, a semaphore
	// in use deleted without force, or the limit of a node reached.
	StatusPreconditionFailed Status = 5
	// StatusAborted: a waiting acquire was overtaken by a newer acquire or by a release of the same
	// session, or its semaphore was deleted by force.
	StatusAborted Status = 6
	// StatusFenced: the order id that the request carries is not the caller's current one there, or a later one has
	// overtaken it; so with the ticket or the generation of a rollout. Nothing was changed.
	StatusFenced Status = 7
	// StatusBadSession: the session lives, but not for this caller: wrong key, an older attach, held
	// by another connection, or not bound to this one.
	StatusBadSession Status = 8
	// StatusSessionExpired: the session is over, whatever ended it.
	StatusSessionExpired Status = 9
	// StatusStale: the mutation's number is below one already applied, and it was never applied
	// itself. It never will be; send it again under a new number.
	StatusStale Status = 10
	// StatusMoved: another host leads the shard; the answer names it. Nothing happened.
	StatusMoved Status = 11
	// StatusUnavailable: the outcome is unknown or the host cannot answer now. Send the same request
	// again, a mutation under the same number.
	StatusUnavailable Status = 12
	// StatusOverloaded: a limit of the host was reached; nothing happened. Wait as long as the answer says, then send
	// it again.
	StatusOverloaded Status = 13
	// StatusStorageFull: the host refuses writes until there is room on its disk. Nothing happened.
	StatusStorageFull Status = 14
	// StatusUnsupported: this host does not know the message or the protocol version.
	StatusUnsupported Status = 15
	// StatusTimeout: the peer was silent for too long; given as the reason for closing a connection.
	StatusTimeout Status = 16
	// StatusInternal: the host found itself in a state that it must not be in. Please report it.
	StatusInternal Status = 17
	// StatusQuotaExceeded: the request would make a node or a shard hold more than its quota. Nothing happened. Free
	// something, or have the quota raised.
	StatusQuotaExceeded Status = 18
	// StatusNumberReused: the number of the mutation was used for another request before. This one was not carried out:
	// it needs a number of its own.
	StatusNumberReused Status = 19
)

var statusNames = [...]string{
	StatusSuccess:            "SUCCESS",
	StatusBadRequest:         "BAD_REQUEST",
	StatusUnauthorized:       "UNAUTHORIZED",
	StatusNotFound:           "NOT_FOUND",
	StatusAlreadyExists:      "ALREADY_EXISTS",
	StatusPreconditionFailed: "PRECONDITION_FAILED",
	StatusAborted:            "ABORTED",
	StatusFenced:             "FENCED",
	StatusBadSession:         "BAD_SESSION",
	StatusSessionExpired:     "SESSION_EXPIRED",
	StatusStale:              "STALE",
	StatusMoved:              "MOVED",
	StatusUnavailable:        "UNAVAILABLE",
	StatusOverloaded:         "OVERLOADED",
	StatusStorageFull:        "STORAGE_FULL",
	StatusUnsupported:        "UNSUPPORTED",
	StatusTimeout:            "TIMEOUT",
	StatusInternal:           "INTERNAL",
	StatusQuotaExceeded:      "QUOTA_EXCEEDED",
	StatusNumberReused:       "NUMBER_REUSED",
}

// String returns the status as the docs write it, or its number where it is not known here.
func (s Status) String() string {
	return nameOf(s, "STATUS", statusNames[:]...)
}

// Retry says what to do with a request that was not carried out.
type Retry uint8

const (
	// RetryNever: the outcome is final; the same request would have it again.
	RetryNever Retry = 0
	// RetrySame: send the same request again, a mutation under the same number; if the connection is
	// gone, over another one.
	RetrySame Retry = 1
	// RetryElsewhere: send the same request, a mutation under the same number, to the host that the answer names.
	RetryElsewhere Retry = 2
	// RetryLater: send the same request again, a mutation under the same number, after the wait that the
	// answer asks for.
	RetryLater Retry = 3
	// RetryRenumbered: send the mutation again under a new number.
	RetryRenumbered Retry = 4
)

// String returns the class as the docs write it.
func (r Retry) String() string {
	return nameOf(r, "RETRY", "NEVER", "SAME", "ELSEWHERE", "LATER", "RENUMBERED")
}

// Retry returns what to do with a request that got this status. A status that is not known here is final:
// whether it is safe to send the request again cannot be known.
func (s Status) Retry() Retry {
	switch s {
	case StatusUnavailable, StatusTimeout:
		return RetrySame
	case StatusMoved:
		return RetryElsewhere
	case StatusOverloaded, StatusStorageFull:
		return RetryLater
	case StatusStale:
		return RetryRenumbered
	default:
		return RetryNever
	}
}

// EndReason says why a session ended.
type EndReason uint8

const (
	// EndUnknown: the host that answers knows only that the session is over.
	EndUnknown EndReason = 0
	// EndStopped: its client stopped it.
	EndStopped EndReason = 1
	// EndExpired: its client was silent for longer than the session's timeout.
	EndExpired EndReason = 2
	// EndDestroyed: an operator ended it.
	EndDestroyed EndReason = 3
	// EndNodeDropped: its node was dropped.
	EndNodeDropped EndReason = 4
)

// String returns the reason as the docs write it, or its number where it is not known here.
func (r EndReason) String() string {
	return nameOf(r, "END_REASON", "UNKNOWN", "STOPPED", "EXPIRED", "DESTROYED", "NODE_DROPPED")
}

// AbortReason says what overtook a waiting acquire.
type AbortReason uint8

const (
	// AbortUnknown: the host that answers knows only that the acquire no longer waits.
	AbortUnknown AbortReason = 0
	// AbortReplaced: the session sent a newer acquire of the same semaphore.
	AbortReplaced AbortReason = 1
	// AbortReleased: the session released the semaphore that it was waiting for.
	AbortReleased AbortReason = 2
	// AbortDeleted: the semaphore was deleted by force.
	AbortDeleted AbortReason = 3
	// AbortNodeDropped: the node was dropped, with all that is in it. Its sessions are over too.
	AbortNodeDropped AbortReason = 4
	// AbortResized: the semaphore's limit was lowered below what the acquire waited for.
	AbortResized AbortReason = 5
)

// String returns the reason as the docs write it, or its number where it is not known here.
func (r AbortReason) String() string {
	return nameOf(r, "ABORT_REASON", "UNKNOWN", "REPLACED", "RELEASED", "DELETED", "NODE_DROPPED", "RESIZED")
}
