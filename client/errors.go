package client

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/signalbox/signalbox/client/internal/failure"
	"github.com/signalbox/signalbox/client/internal/incarnation"
	"github.com/signalbox/signalbox/client/internal/scope"
	"github.com/signalbox/signalbox/protocol"
)

// What a host answered, to be tested for with errors.Is. Every error of this package that comes from a
// host's answer is one of them.
var (
	// ErrBadRequest: the request breaks a rule that no state can change, such as asking for more than
	// the limit, or for more than the session has already.
	ErrBadRequest = protocol.ErrBadRequest
	// ErrUnauthorized: the token does not give the right to do this.
	ErrUnauthorized = protocol.ErrUnauthorized
	// ErrNotLetIn: it is also an ErrUnauthorized, of a client that may do nothing: its token is not known, or not any
	// more.
	ErrNotLetIn = failure.ErrNotLetIn
	// ErrNotFound: no such node or semaphore. ErrNodeNotFound or ErrSemaphoreNotFound say which.
	ErrNotFound = protocol.ErrNotFound
	// ErrAlreadyExists: a persistent semaphore of that name is there.
	ErrAlreadyExists = protocol.ErrAlreadyExists
	// ErrPreconditionFailed: the state forbids it, such as deleting what is in use, or taking an
	// ephemeral semaphore for a persistent one, or an update or resize with IfRevision of what has changed.
	ErrPreconditionFailed = protocol.ErrPreconditionFailed
	// ErrAborted: an acquire that waited was overtaken. ErrReplaced, ErrReleased, ErrResized or ErrDeleted say
	// by what, if it is known.
	ErrAborted = protocol.ErrAborted
	// ErrFenced: the lease that guards the change is not the session's current one.
	ErrFenced = protocol.ErrFenced
	// ErrBadSession: another client took the session, with its key.
	ErrBadSession = protocol.ErrBadSession
	// ErrSessionExpired: the session is over; a *SessionEnd says why.
	ErrSessionExpired = protocol.ErrSessionExpired
	// ErrUnavailable: no host could be asked, or the outcome is not known.
	ErrUnavailable = protocol.ErrUnavailable
	// ErrOverloaded: a limit of the host was reached.
	ErrOverloaded = protocol.ErrOverloaded
	// ErrStorageFull: the host refuses writes until there is room on its disk.
	ErrStorageFull = protocol.ErrStorageFull
	// ErrUnsupported: the host does not know the request.
	ErrUnsupported = protocol.ErrUnsupported
	// ErrInternal: the host found itself in a state that it must not be in.
	ErrInternal = protocol.ErrInternal
)

// What the client itself says, to be tested for with errors.Is.
var (
	// ErrNodeNotFound: there is no node of that path. It is ErrNotFound too.
	ErrNodeNotFound = failure.ErrNodeNotFound
	// ErrSemaphoreNotFound: there is no semaphore of that name in the node, or the node was dropped a
	// moment ago. It is ErrNotFound too.
	ErrSemaphoreNotFound = errors.New("there is no such semaphore")
	// ErrNotAcquired: an Acquire with a Timeout was not granted in time.
	ErrNotAcquired = failure.ErrNotAcquired
	// ErrLeaseLost: what the lease stood for is not owned any more, though it was not released.
	ErrLeaseLost = failure.ErrLeaseLost
	// ErrReleased: the lease, or the acquire that waited, ended by a Release.
	ErrReleased = failure.ErrReleased
	// ErrReplaced: a newer Acquire of the same session and semaphore took the place of this one.
	ErrReplaced = failure.ErrReplaced
	// ErrResized: the limit was lowered, and the acquire waited for more than it is now.
	ErrResized = failure.ErrResized
	// ErrDeleted: the semaphore was deleted by force.
	ErrDeleted = failure.ErrDeleted
	// ErrSessionClosed: the session was closed by its own user.
	ErrSessionClosed = errors.New("the session is closed")
	// ErrClosed: the client was closed.
	ErrClosed = scope.ErrClosed
)

// EndReason says what ended a session.
type EndReason int

const (
	// EndUnknown: the host that answered knew only that the session is over.
	EndUnknown EndReason = iota
	// EndSilence: no host has vouched for the session in time. The client gave up by its own clock; the
	// session may live on at its host for a moment.
	EndSilence
	// EndExpired: the host has not heard of the client for longer than the session's timeout, and the client still
	// counted on it. Where it did not any more, the reason is EndSilence.
	EndExpired
	// EndDestroyed: an operator ended it.
	EndDestroyed
	// EndNodeDropped: its node was dropped.
	EndNodeDropped
	// EndTaken: another client took it, with its key.
	EndTaken
	// EndClosed: its user closed it.
	EndClosed
)

// The numbers are those of the incarnation's reasons.
var _ = [1]struct{}{}[int(EndClosed)-int(incarnation.Closed)]

var endReasons = [...]string{
	EndUnknown:     "it is over",
	EndSilence:     "no host has vouched for it in time",
	EndExpired:     "the host has not heard of it in time",
	EndDestroyed:   "an operator ended it",
	EndNodeDropped: "its node was dropped",
	EndTaken:       "another client took it",
	EndClosed:      "it was closed",
}

// String says it in words.
func (r EndReason) String() string {
	if r >= 0 && int(r) < len(endReasons) {
		return endReasons[r]
	}
	return "reason " + strconv.Itoa(int(r))
}

// SessionEnd is the cause with which everything of a session ends: its context, those of its leases, and
// what waits. It is ErrSessionExpired, or ErrSessionClosed after a Close; where another client took the
// session it is ErrBadSession too.
type SessionEnd struct {
	SessionID uint64
	Reason    EndReason
	// Detail is what there is to add, mostly empty.
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

// Is makes errors.Is see the sentinels of the reason.
func (e *SessionEnd) Is(target error) bool {
	switch target {
	case ErrSessionExpired:
		return e.Reason != EndClosed
	case ErrSessionClosed:
		return e.Reason == EndClosed
	case ErrBadSession:
		return e.Reason == EndTaken
	}
	return false
}

// failedName is failed for the name of a semaphore, which is what is missing where something is.
func failedName(operation, name string, err error) error {
	if err == nil {
		return nil
	}
	return failed(operation, strconv.Quote(name), missing(ErrSemaphoreNotFound, err))
}

// failedNode is failed for the path of a node.
func failedNode(operation, path string, err error) error {
	return failed(operation, path, missing(ErrNodeNotFound, err))
}

// missing adds what was not found to an error that says that something was not, and does not say what.
func missing(what, err error) error {
	if !errors.Is(err, ErrNotFound) || errors.Is(err, ErrNodeNotFound) || errors.Is(err, ErrSemaphoreNotFound) {
		return err
	}
	return fmt.Errorf("%w: %w", what, err)
}

// failed names the operation and its subject in front of an error.
func failed(operation, subject string, err error) error {
	return failure.Of("client", operation, subject, err)
}
