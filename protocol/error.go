package protocol

import (
	"strconv"
	"time"
)

// Error is an outcome that is not a success. It says that it is (errors.Is) the sentinel of its status.
type Error struct {
	Status  Status
	Message string
	// Wait is how long the host asks to wait before the next try; 0 where it does not say.
	Wait time.Duration
	// Reason says what overtook a waiting acquire, with StatusAborted.
	Reason AbortReason
	// Moved says where to go instead, with StatusMoved.
	Moved Moved
}

// Sentinels to hold an error against with errors.Is: one for each status but success.
var (
	ErrBadRequest         error = &Error{Status: StatusBadRequest}
	ErrUnauthorized       error = &Error{Status: StatusUnauthorized}
	ErrNotFound           error = &Error{Status: StatusNotFound}
	ErrAlreadyExists      error = &Error{Status: StatusAlreadyExists}
	ErrPreconditionFailed error = &Error{Status: StatusPreconditionFailed}
	ErrAborted            error = &Error{Status: StatusAborted}
	ErrFenced             error = &Error{Status: StatusFenced}
	ErrBadSession         error = &Error{Status: StatusBadSession}
	ErrSessionExpired     error = &Error{Status: StatusSessionExpired}
	ErrStale              error = &Error{Status: StatusStale}
	ErrMoved              error = &Error{Status: StatusMoved}
	ErrUnavailable        error = &Error{Status: StatusUnavailable}
	ErrOverloaded         error = &Error{Status: StatusOverloaded}
	ErrStorageFull        error = &Error{Status: StatusStorageFull}
	ErrUnsupported        error = &Error{Status: StatusUnsupported}
	ErrTimeout            error = &Error{Status: StatusTimeout}
	ErrInternal           error = &Error{Status: StatusInternal}
)

// Error says what happened, and what to do where the host said so.
func (e *Error) Error() string {
	text := e.Status.String()
	if e.Reason != AbortUnknown {
		text += " (" + e.Reason.String() + ")"
	}
	if e.Message != "" {
		text += ": " + e.Message
	}
	if e.Moved.LeaderAddress != "" {
		text += " (shard " + strconv.FormatUint(e.Moved.ShardID, 10) + " is led by host " +
			strconv.FormatUint(e.Moved.LeaderHostID, 10) + " at " + e.Moved.LeaderAddress + ")"
	}
	if e.Wait > 0 {
		text += " (try again in " + e.Wait.String() + ")"
	}
	return text
}

// Retry returns what to do with the request.
func (e *Error) Retry() Retry {
	return e.Status.Retry()
}

// Is makes errors.Is see the sentinel of the status.
func (e *Error) Is(target error) bool {
	return e.Status.is(target)
}

// is says whether target is the sentinel of s: an *Error with that status and nothing else.
func (s Status) is(target error) bool {
	t, ok := target.(*Error)
	return ok && *t == Error{Status: s}
}
