package protocol

// Status is a request's outcome. The numbers are part of the protocol: a number never changes its meaning and is never
// reused.
type Status uint8

const (
	// StatusSuccess: the request was carried out. A timed-out acquire and a release without a holding are successes
	// too; flags in their answers show the difference.
	StatusSuccess Status = 0
	// StatusBadRequest: the request is invalid whatever the state. Nothing happened.
	StatusBadRequest Status = 1
	// StatusUnauthorized: the token does not grant the required right. The connection stays open.
	StatusUnauthorized Status = 2
	// StatusNotFound: the node, semaphore or watch does not exist.
	StatusNotFound Status = 3
	// StatusAlreadyExists: a persistent semaphore with the name exists; nothing was changed.
	StatusAlreadyExists Status = 4
	// StatusPreconditionFailed: the state forbids the request: ephemeral and persistent mixed up, a semaphore in use
	// deleted without force, or a node limit reached.
	StatusPreconditionFailed Status = 5
	// StatusAborted: a waiting acquire was superseded by a newer acquire or by a release in its session, or the
	// semaphore was deleted by force.
	StatusAborted Status = 6
	// StatusFenced: the request's order id is not the caller's current order id for the object, or a later order id has
	// superseded it; likewise a rollout's ticket or generation. Nothing was changed.
	StatusFenced Status = 7
	// StatusBadSession: the session is alive, but not for this caller: wrong secret, an older attach, attached over
	// another connection, or not bound to this connection.
	StatusBadSession Status = 8
	// StatusSessionExpired: the session is over, for whatever reason.
	StatusSessionExpired Status = 9
	// StatusStale: the mutation was never applied, and never will be, because a mutation with a larger sequence was
	// applied. Send the mutation again under a new sequence.
	StatusStale Status = 10
	// StatusMoved: another host leads the shard; the answer names that host. Nothing happened.
	StatusMoved Status = 11
	// StatusUnavailable: the outcome is unknown or the host cannot answer now. Send the request again, a mutation under
	// its old sequence.
	StatusUnavailable Status = 12
	// StatusOverloaded: a host limit was reached; nothing happened. Wait as long as the answer says, then send the
	// request again.
	StatusOverloaded Status = 13
	// StatusStorageFull: the host refuses writes until its disk has space, or growth until there is memory. Nothing
	// happened.
	StatusStorageFull Status = 14
	// StatusUnsupported: this host does not know the message or the protocol version.
	StatusUnsupported Status = 15
	// StatusHeartbeatTimeout: the peer was silent for too long; used as the reason for closing a connection.
	StatusHeartbeatTimeout Status = 16
	// StatusInternal: the host found itself in a state that should be impossible. Please report the case.
	StatusInternal Status = 17
	// StatusQuotaExceeded: the request would exceed a node's or shard's quota. Nothing happened. Free something, or
	// have the quota raised.
	StatusQuotaExceeded Status = 18
	// StatusSequenceReused: the mutation's sequence was used for another request before. The mutation was not carried
	// out, and needs its own sequence.
	StatusSequenceReused Status = 19
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
	StatusHeartbeatTimeout:   "HEARTBEAT_TIMEOUT",
	StatusInternal:           "INTERNAL",
	StatusQuotaExceeded:      "QUOTA_EXCEEDED",
	StatusSequenceReused:     "SEQUENCE_REUSED",
}

// String returns the status as the docs write it, or the number if unknown.
func (s Status) String() string {
	return nameOf(s, "STATUS", statusNames[:]...)
}

// EndReason is why a session ended.
type EndReason uint8

const (
	// EndUnknown: the answering host knows only that the session is over.
	EndUnknown EndReason = 0
	// EndStopped: the session's client stopped it.
	EndStopped EndReason = 1
	// EndExpired: the client was silent for longer than the session's timeout.
	EndExpired EndReason = 2
	// EndDestroyed: an operator ended the session.
	EndDestroyed EndReason = 3
	// EndNodeDropped: the session's node was dropped.
	EndNodeDropped EndReason = 4
)

// String returns the reason as the docs write it, or the number if unknown.
func (r EndReason) String() string {
	return nameOf(r, "END_REASON", "UNKNOWN", "STOPPED", "EXPIRED", "DESTROYED", "NODE_DROPPED")
}

// AbortReason is why a waiting acquire was aborted.
type AbortReason uint8

const (
	// AbortUnknown: the answering host knows only that the acquire no longer waits.
	AbortUnknown AbortReason = 0
	// AbortReplaced: the session sent a newer acquire for the same semaphore.
	AbortReplaced AbortReason = 1
	// AbortReleased: the session released the semaphore it was waiting for.
	AbortReleased AbortReason = 2
	// AbortDeleted: the semaphore was deleted by force.
	AbortDeleted AbortReason = 3
	// AbortNodeDropped: the node was dropped, with everything in it. The node's sessions are over too.
	AbortNodeDropped AbortReason = 4
	// AbortResized: the semaphore's limit was lowered below the acquire's count.
	AbortResized AbortReason = 5
)

// String returns the reason as the docs write it, or the number if unknown.
func (r AbortReason) String() string {
	return nameOf(r, "ABORT_REASON", "UNKNOWN", "REPLACED", "RELEASED", "DELETED", "NODE_DROPPED", "RESIZED")
}

// Retry is what to do with an unsuccessful request.
type Retry uint8

const (
	// RetryNever: the outcome is final; a retry would have the same outcome.
	RetryNever Retry = 0
	// RetrySame: send the request again, a mutation under its old sequence; after a broken connection, over a new
	// connection.
	RetrySame Retry = 1
	// RetryElsewhere: send the request, a mutation under its old sequence, to the host named in the answer.
	RetryElsewhere Retry = 2
	// RetryLater: send the request again, a mutation under its old sequence, after the wait in the answer.
	RetryLater Retry = 3
	// RetryNewSequence: send the mutation again under a new sequence.
	RetryNewSequence Retry = 4
)

// String returns the class as the docs write it.
func (r Retry) String() string {
	return nameOf(r, "RETRY", "NEVER", "SAME", "ELSEWHERE", "LATER", "NEW_SEQUENCE")
}

// Retry returns what to do with a request that got this status. An unknown status is final, because a retry may not be
// safe.
func (s Status) Retry() Retry {
	switch s {
	case StatusUnavailable, StatusHeartbeatTimeout:
		return RetrySame
	case StatusMoved:
		return RetryElsewhere
	case StatusOverloaded, StatusStorageFull:
		return RetryLater
	case StatusStale:
		return RetryNewSequence
	default:
		return RetryNever
	}
}
