package client

import (
	"errors"
	"strconv"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/lifecycle"
	"github.com/signalbox/signalbox/client/internal/session"
	"github.com/signalbox/signalbox/protocol"
)

// Errors returned by hosts. Test for them with errors.Is. Every error in this package with a host's response as cause
// matches a value below.
var (
	// ErrBadRequest: the request breaks a rule that no state can change, for example by asking for more than the
	// limit, or for more than the session has already.
	ErrBadRequest = protocol.ErrBadRequest
	// ErrUnauthorized: the token lacks a right that the request needs.
	ErrUnauthorized = protocol.ErrUnauthorized
	// ErrUnauthenticated: the client may do nothing, because hosts do not know the token, or do not know the token any
	// more. The error is an ErrUnauthorized too.
	ErrUnauthenticated = failure.ErrUnauthenticated
	// ErrNotFound: the node or the semaphore does not exist. The error also matches ErrNodeNotFound or
	// ErrSemaphoreNotFound.
	ErrNotFound = protocol.ErrNotFound
	// ErrAlreadyExists: a persistent semaphore with this name exists.
	ErrAlreadyExists = protocol.ErrAlreadyExists
	// ErrPreconditionFailed: the state forbids the request, for example to delete a semaphore in use, to take an
	// ephemeral semaphore for a persistent semaphore, or to update or resize with IfRevision after a change.
	ErrPreconditionFailed = protocol.ErrPreconditionFailed
	// ErrAborted: a waiting acquire was superseded. The error also matches the cause, if known: ErrReplaced,
	// ErrReleased, ErrResized or ErrDeleted.
	ErrAborted = protocol.ErrAborted
	// ErrFenced: the guarding lease is not the session's current lease.
	ErrFenced = protocol.ErrFenced
	// ErrBadSession: another client took the session over with the session key.
	ErrBadSession = protocol.ErrBadSession
	// ErrSessionExpired: the session is over; a *SessionEnd says why.
	ErrSessionExpired = protocol.ErrSessionExpired
	// ErrUnavailable: no host could be asked, or the outcome is not known.
	ErrUnavailable = protocol.ErrUnavailable
	// ErrOverloaded: the host reached a limit.
	ErrOverloaded = protocol.ErrOverloaded
	// ErrStorageFull: the host's disk or memory is full. A full disk rejects all writes until space is free. Full
	// memory rejects writes that need more memory.
	ErrStorageFull = protocol.ErrStorageFull
	// ErrUnsupported: the host does not know the request.
	ErrUnsupported = protocol.ErrUnsupported
	// ErrInternal: the host reached a state that must not occur.
	ErrInternal = protocol.ErrInternal
)

// Errors that the client itself reports. Test for them with errors.Is.
var (
	// ErrNodeNotFound: no node has the path. The error is an ErrNotFound too.
	ErrNodeNotFound = failure.ErrNodeNotFound
	// ErrSemaphoreNotFound: no semaphore in the node has this name, or the node was just dropped. The error also
	// matches ErrNotFound.
	ErrSemaphoreNotFound = errors.New("the semaphore does not exist")
	// ErrNotAcquired: an Acquire with a Timeout was not granted in time.
	ErrNotAcquired = failure.ErrNotAcquired
	// ErrLeaseLost: the session no longer owns the leased units, though the lease was not released.
	ErrLeaseLost = failure.ErrLeaseLost
	// ErrReleased: a Release ended the lease or the waiting acquire.
	ErrReleased = failure.ErrReleased
	// ErrReplaced: a newer Acquire by the session took over the older Acquire's queue position.
	ErrReplaced = failure.ErrReplaced
	// ErrResized: the limit was lowered below the count that the acquire waited for.
	ErrResized = failure.ErrResized
	// ErrDeleted: the semaphore was deleted by force.
	ErrDeleted = failure.ErrDeleted
	// ErrSessionClosed: the session was closed by its user.
	ErrSessionClosed = errors.New("the session is closed")
	// ErrClosed: the client was closed.
	ErrClosed = lifecycle.ErrClosed
)

// EndReason is why a session ended.
type EndReason int

const (
	// EndUnknown: the host only knew that the session is over.
	EndUnknown EndReason = iota
	// EndUnreachable: no host has vouched for the session in time. The client gave up by its own clock; the session may
	// live on at the host for a moment.
	EndUnreachable
	// EndExpired: the host has not heard of the client for longer than the session's timeout, while the client still
	// counted on the session. If the client did not count on the session any more, the reason is EndUnreachable.
	EndExpired
	// EndDestroyed: an operator ended the session.
	EndDestroyed
	// EndNodeDropped: the session's node was dropped.
	EndNodeDropped
	// EndTakenOver: another client took the session over with the session key.
	EndTakenOver
	// EndClosed: the user closed the session.
	EndClosed
)

// The numbers equal the reasons in package client/internal/session.
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

// SessionEnd is the cause when a session's context, its lease contexts and its waiting calls end. SessionEnd matches
// ErrSessionExpired, or ErrSessionClosed after a Close. If another client took the session over, SessionEnd also
// matches ErrBadSession.
type SessionEnd struct {
	SessionID uint64
	Reason    EndReason
	// Detail explains the reason further; usually empty.
	Detail string
}

// Error names the session and the reason for its end.
func (e *SessionEnd) Error() string {
	text := "client: session " + strconv.FormatUint(e.SessionID, 10) + " ended: " + e.Reason.String()
	if e.Detail != "" {
		text += ": " + e.Detail
	}
	return text
}

// Is makes errors.Is match the reason's sentinel errors.
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

// failedName is failed for a semaphore name: an ErrNotFound without a subject becomes ErrSemaphoreNotFound.
func failedName(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return failure.OfName("client", operation, name, missing(ErrSemaphoreNotFound, err))
}

// failedNode is failed for a node path: an ErrNotFound without a subject becomes ErrNodeNotFound.
func failedNode(operation, path string, err error) error {
	return failed(operation, path, missing(ErrNodeNotFound, err))
}

// missing adds the missing subject's sentinel to an ErrNotFound without a subject.
func missing(what, err error) error {
	if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrNodeNotFound) || errors.Is(err, ErrSemaphoreNotFound) {
		return err
	}
	return failure.Missing(what, err)
}

// failed adds the operation and the subject to an error.
func failed(operation, subject string, err error) error {
	return failure.Of("client", operation, subject, err)
}
