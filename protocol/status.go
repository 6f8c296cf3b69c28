package protocol

import "strconv"

// Status is the outcome of a request. The numbers are part of the protocol: they never change their
// meaning and are never used again.
type Status uint8

const (
	// StatusSuccess: the request was carried out. An acquire that timed out and a release of nothing
	// are successes too; their own flags tell.
	StatusSuccess Status = 0
	// StatusBadRequest: the request breaks a rule that no state can change. Nothing happened.
	StatusBadRequest Status = 1
	// StatusUnauthorized: the token does not give the right to do this. The connection lives on.
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
	// StatusFenced: the order id that the request carries is not the caller's current one there.
	// Nothing was changed.
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
	// StatusOverloaded: a limit of the host was reached; nothing happened. Wait as told, then again.
	StatusOverloaded Status = 13
	// StatusStorageFull: the host refuses writes until there is room on its disk. Nothing happened.
	StatusStorageFull Status = 14
	// StatusUnsupported: this host does not know the message or the protocol version.
	StatusUnsupported Status = 15
	// StatusTimeout: the peer was silent for too long; given as the reason for closing a connection.
	StatusTimeout Status = 16
	// StatusInternal: the host found itself in a state that it must not be in. Please report it.
	StatusInternal Status = 17
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
}

// String returns the status as the docs write it, or its number where it is not known here.
func (s Status) String() string {
	if int(s) < len(statusNames) {
		return statusNames[s]
	}
	return "STATUS_" + strconv.Itoa(int(s))
}
