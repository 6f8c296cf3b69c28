package client

import (
	"errors"
	"strconv"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
)

// Errors that hosts answer, to be tested for with errors.Is. Every error of this package with a host's answer as the
// cause matches a value below.
var (
	// ErrBadRequest: the request breaks a rule that no state can change, for example by asking for more than the
	// limit, or for more than the session has already.
	ErrBadRequest = protocol.ErrBadRequest
	// ErrUnauthorized: the token does not give the right that the request needs.
	ErrUnauthorized = protocol.ErrUnauthorized
	// ErrUnauthenticated: the client may do nothing, because hosts do not know the token, or do not know the token any
	// more. The error is an ErrUnauthorized too.
	ErrUnauthenticated = failure.ErrUnauthenticated
	// ErrNotFound: the node or the semaphore does not exist. ErrNodeNotFound or ErrSemaphoreNotFound says which.
	ErrNotFound = protocol.ErrNotFound
	// ErrAlreadyExists: a persistent semaphore of the name exists.
	ErrAlreadyExists = protocol.ErrAlreadyExists
	// ErrPreconditionFailed: the state forbids the request, for example to delete a semaphore in use, to take an
	// ephemeral semaphore for a persistent semaphore, or to update or resize with IfRevision after a change.
	ErrPreconditionFailed = protocol.ErrPreconditionFailed
	// ErrAborted: an acquire that waited was overtaken. ErrReplaced, ErrReleased, ErrResized or ErrDeleted names the
	// cause, if the cause is known.
	ErrAborted = protocol.ErrAborted
	// ErrFenced: the lease that guards the change is not the session's current lease.
	ErrFenced = protocol.ErrFenced
	// ErrBadSession: another client took the session over, with the session's key.
	ErrBadSession = protocol.ErrBadSession
	// ErrSessionExpired: the session is over; a *SessionEnd says why.
	ErrSessionExpired = protocol.ErrSessionExpired
	// ErrUnavailable: no host could be asked, or the outcome is not known.
	ErrUnavailable = protocol.ErrUnavailable
	// ErrOverloaded: a limit of the host was reached.
	ErrOverloaded = protocol.ErrOverloaded
	// ErrStorageFull: the host refuses writes until the disk has room, or what grows until there is memory.
	ErrStorageFull = protocol.ErrStorageFull
	// ErrUnsupported: the host does not know the request.
	ErrUnsupported = protocol.ErrUnsupported
	// ErrInternal: the host found itself in a state that must not occur.
	ErrInternal = protocol.ErrInternal
)

// Errors that the client itself reports, to be tested for with errors.Is.
var (
	// ErrNodeNotFound: no node has the path. The error is an ErrNotFound too.
	ErrNodeNotFound = failure.ErrNodeNotFound
	// ErrSemaphoreNotFound: no semaphore of the node has the name, or the node was dropped a moment ago. The error is
	// an ErrNotFound too.
	ErrSemaphoreNotFound = errors.New("the semaphore does not exist")
	// ErrNotAcquired: an Acquire with a Timeout was not granted in time.
	ErrNotAcquired = failure.ErrNotAcquired
	// ErrLeaseLost: the session does not own the part that the lease stood for any more, though the lease was not
	// released.
	ErrLeaseLost = failure.ErrLeaseLost
	// ErrReleased: the lease, or the acquire that waited, ended by a Release.
	ErrReleased = failure.ErrReleased
	// ErrReplaced: a newer Acquire of the session took the place of the older Acquire in the queue of the semaphore.
	ErrReplaced = failure.ErrReplaced
	// ErrResized: the limit was lowered below the count that the acquire waited for.
	ErrResized = failure.ErrResized
	// ErrDeleted: the semaphore was deleted by force.
	ErrDeleted = failure.ErrDeleted
	// ErrSessionClosed: the session was closed by its own user.
	ErrSessionClosed = errors.New("the session is closed")
	// ErrClosed: the client was closed.
	ErrClosed = lifecycle.ErrClosed
)

// EndReason is why a session ended.
type EndReason int

const (
	// EndUnknown: the host that answered knew only that the session is over.
	EndUnknown EndReason = iota
	// EndUnreachable: no host has vouched for the session in time. The client gave up by its own clock; the session may
	// live on at the host for a moment.
	EndUnreachable
	// EndExpired: the host has not heard of the client for longer than the session's timeout, while the client still
	// counted on the session. If the client did not count on the session any more, the reason is EndUnreachable.
	EndExpired
	// EndDestroyed: an operator ended the session.
	EndDestroyed
	// EndNodeDropped: the node of the session was dropped.
	EndNodeDropped
	// EndTakenOver: another client took the session over, with the session's key.
	EndTakenOver
	// EndClosed: the user closed the session.
	EndClosed
)

// The numbers equal the reasons of package client/internal/session.
var _ = [1]struct{}{}[int(EndClosed)-int(session.Closed)]

var endReasons = [...]string{
	EndUnknown:     "the session is over",
	EndUnreachable: "no host confirmed the session in time",
	EndExpired:     "the session timeout passed at the host",
	EndDestroyed:   "an operator ended the session",
	EndNodeDropped: "the node was dropped",
	EndTakenOver:   "another client took over the session",
	EndClosed:      "the session was closed",
}

// String returns the reason in words.
func (r EndReason) String() string {
	if r >= 0 && int(r) < len(endReasons) {
		return endReasons[r]
	}
	return "reason " + strconv.Itoa(int(r))
}

// SessionEnd is the cause with which everything of a session ends: the context of the session, the contexts of the
// leases, and the calls that wait. It is ErrSessionExpired, or ErrSessionClosed after a Close; if another client took
// the session over, it is ErrBadSession too.
type SessionEnd struct {
	SessionID uint64
	Reason    EndReason
	// Detail explains the reason further; it is mostly empty.
	Detail string
}

// Error says which session ended, and why.
func (e *SessionEnd) Error() string {
	text := "client: session " + strconv.FormatUint(e.SessionID, 10) + " ended: " + e.Reason.String()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is makes errors.Is match the sentinels of the reason.
func (e *SessionEnd) Is(target error) bool {
	switch target {
	case ErrSessionExpired:
		return e.Reason != EndClosed
	case ErrSessionClosed:
		return e.Reason == EndClosed
	case ErrBadSession:
		return e.Reason == EndTakenOver
	}
	return false
}

// failedName is failed for the name of a semaphore: an ErrNotFound that names no subject becomes an
// ErrSemaphoreNotFound.
func failedName(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return failure.OfName("client", operation, name, missing(ErrSemaphoreNotFound, err))
}

// failedNode is failed for the path of a node: an ErrNotFound that names no subject becomes an ErrNodeNotFound.
func failedNode(operation, path string, err error) error {
	return failed(operation, path, missing(ErrNodeNotFound, err))
}

// missing adds the sentinel of the missing subject to an ErrNotFound that does not say what is missing.
func missing(what, err error) error {
	if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrNodeNotFound) || errors.Is(err, ErrSemaphoreNotFound) {
		return err
	}
	return failure.Missing(what, err)
}

// failed puts the operation and the subject in front of an error.
func failed(operation, subject string, err error) error {
	return failure.Of("client", operation, subject, err)
}
