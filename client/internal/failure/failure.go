// Package failure defines the error format for the client and its recipes.
package failure

import (
	"errors"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox/signalbox/protocol"
)

// Error names the failed operation and its subject.
type Error struct {
	pkg, operation, subject string
	cause                   error
}

// Of adds a package, an operation and its subject, which may be empty, to an error. If a lower package's error already
// names the operation and the subject, Of does not repeat them. Of returns nil for a nil cause.
func Of(pkg, operation, subject string, cause error) error {
	if cause == nil {
		return nil
	}
	if inner, ok := cause.(*Error); ok && inner.operation == operation && inner.subject == subject {
		cause = inner.cause
	}
	return &Error{pkg: pkg, operation: operation, subject: subject, cause: cause}
}

// OfName is Of for an operation on a named object.
func OfName(pkg, operation, name string, cause error) error {
	return Of(pkg, operation, strconv.Quote(name), cause)
}

// OfObject is OfName for an operation on an object with the given kind. Unless it is a known error, a missing object's
// error also matches notFound.
func OfObject(kind, operation, name string, cause, notFound error, known ...error) error {
	if cause == nil {
		return nil
	}
	if errors.Is(cause, protocol.ErrNotFound) && !errors.Is(cause, ErrNodeNotFound) && !errors.Is(cause, notFound) &&
		!slices.ContainsFunc(known, func(e error) bool { return errors.Is(cause, e) }) {
		cause = Missing(notFound, cause)
	}
	return OfName(kind, strings.ReplaceAll(strings.TrimPrefix(operation, kind+"_"), "_", " "), name, cause)
}

// Error formats the error as one line.
func (e *Error) Error() string {
	text := e.pkg + ": " + e.operation
	if e.subject != "" {
		text += " " + e.subject
	}
	return text + ": " + e.cause.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Fields returns operation, subject and cause. The subject may be empty.
func (e *Error) Fields() (operation, subject string, cause error) {
	return e.operation, e.subject, e.cause
}

// missing is a host's response that a node or an object does not exist.
type missing struct{ what, answer error }

// Missing adds to a host's answer an error for the missing node or object.
func Missing(what, answer error) error { return &missing{what, answer} }

// Error names the missing node or object before the answer.
func (m *missing) Error() string { return m.what.Error() + ": " + m.answer.Error() }

// Unwrap returns both errors.
func (m *missing) Unwrap() []error { return []error{m.what, m.answer} }

// Missing returns both errors.
func (m *missing) Missing() (what, answer error) { return m.what, m.answer }

// Errors that the client itself reports. Package client exports and documents them.
var (
	ErrNodeNotFound    = errors.New("the node does not exist")
	ErrNotAcquired     = errors.New("not acquired in time")
	ErrLeaseLost       = errors.New("the lease was lost")
	ErrReleased        = errors.New("released")
	ErrReplaced        = errors.New("replaced by a newer acquire in the session")
	ErrResized         = errors.New("the limit was lowered below the requested count")
	ErrDeleted         = errors.New("the semaphore was deleted")
	ErrUnauthenticated = errors.New("the hosts reject the client")
)

// Transport is a connection that was lost or could not be established. Requests in flight have an unknown outcome.
type Transport struct {
	Address string
	Err     error
}

// Error names the address.
func (t *Transport) Error() string { return "host " + t.Address + ": " + t.Err.Error() }

// Unwrap returns the cause.
func (t *Transport) Unwrap() error { return t.Err }

// Fields returns operation, subject and cause.
func (t *Transport) Fields() (operation, subject string, cause error) {
	return "host", t.Address, t.Err
}

// Is makes a lost connection an ErrUnavailable: the cluster could not be asked.
func (t *Transport) Is(target error) bool { return target == protocol.ErrUnavailable }

// Entry is a host's reason for rejecting all connections from the client, regardless of the requests.
type Entry struct {
	Address string
	Err     error
}

// Error names the address.
func (e *Entry) Error() string { return "host " + e.Address + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *Entry) Unwrap() error { return e.Err }

// Fields returns operation, subject and cause.
func (e *Entry) Fields() (operation, subject string, cause error) { return "host", e.Address, e.Err }

// Is reports whether the host could not authenticate the client. A known client that lacks a right does not match.
func (e *Entry) Is(target error) bool {
	return target == ErrUnauthenticated && Status(e.Err) == protocol.StatusUnauthorized
}

// IsTransport reports whether the error permits sending a request again over another connection.
func IsTransport(err error) bool {
	_, ok := errors.AsType[*Transport](err)
	return ok
}

// noAnswer stands for an error without a host's response. It is never written.
var noAnswer protocol.Error

// answer returns the host's answer in an error, noAnswer if the error has no answer.
func answer(err error) *protocol.Error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e
	}
	return &noAnswer
}

// Status returns the error's status, or the success status if the error is not a host's response.
func Status(err error) protocol.Status { return answer(err).Status }

// Refusal returns the status in a host's response. For a lost connection it returns the success status, whatever the
// cause.
func Refusal(err error) protocol.Status {
	if IsTransport(err) {
		return protocol.StatusSuccess
	}
	return Status(err)
}

// Wait returns how long the host asks to wait.
func Wait(err error) time.Duration { return answer(err).Wait }

// Since returns a host's number for numbered requests, or 0.
func Since(err error) uint64 { return answer(err).Since }

// MovedTo returns the host to go to instead, as a host has said.
func MovedTo(err error) *protocol.Moved { return &answer(err).Moved }

// Message returns the host's human-readable message.
func Message(err error) string { return answer(err).Message }

// BadRequest is a refusal by the client itself.
func BadRequest(message string) error {
	return &protocol.Error{Status: protocol.StatusBadRequest, Message: message}
}

// overtaking maps abort reasons to errors.
var overtaking = map[protocol.AbortReason]error{
	protocol.AbortReplaced:    ErrReplaced,
	protocol.AbortReleased:    ErrReleased,
	protocol.AbortResized:     ErrResized,
	protocol.AbortDeleted:     ErrDeleted,
	protocol.AbortNodeDropped: ErrNodeNotFound,
}

// Aborted returns the error for a superseded acquire.
func Aborted(reason protocol.AbortReason) error {
	abort := &protocol.Error{Status: protocol.StatusAborted, Reason: reason}
	switch by := overtaking[reason]; {
	case reason == protocol.AbortNodeDropped:
		return Missing(by, abort)
	case by != nil:
		return fmt.Errorf("%w: %w", abort, by)
	}
	return abort
}

// Overtaken adds the reason to a host's response that the acquire was superseded.
func Overtaken(err error) error {
	if e := answer(err); e.Status == protocol.StatusAborted {
		return Aborted(e.Reason)
	}
	return err
}

// Lost returns the cause for a lease that was not ended by its own session.
func Lost(reason protocol.AbortReason) error {
	if reason == protocol.AbortDeleted {
		return fmt.Errorf("%w: %w", ErrLeaseLost, ErrDeleted)
	}
	return ErrLeaseLost
}

// InLoop returns a loop whose errors are converted by the given function.
func InLoop[T any](all iter.Seq2[T, error], of func(error) error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for item, err := range all {
			if err != nil {
				err = of(err)
			}
			if !yield(item, err) {
				return
			}
		}
	}
}
