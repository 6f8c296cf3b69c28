// Package failure defines the form of errors in the client and its recipes.
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

// Error names the operation that was tried, and the subject of the operation.
type Error struct {
	pkg, operation, subject string
	cause                   error
}

// Of puts a package, an operation and its subject, which may be empty, in front of an error. If the error of a package
// below names the operation and the subject already, they are not repeated. Nil stays nil.
func Of(pkg, operation, subject string, cause error) error {
	if cause == nil {
		return nil
	}
	if inner, ok := cause.(*Error); ok && inner.operation == operation && inner.subject == subject {
		cause = inner.cause
	}
	return &Error{pkg: pkg, operation: operation, subject: subject, cause: cause}
}

// OfName is Of for an operation on an object of a name.
func OfName(pkg, operation, name string, cause error) error {
	return Of(pkg, operation, strconv.Quote(name), cause)
}

// OfObject is OfName for an operation on an object of a kind. The error of a missing object is notFound too, except for
// the known errors.
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

// Error returns the error in one line.
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

// missing is a host's answer that a node or an object does not exist.
type missing struct{ what, answer error }

// Missing adds to a host's answer an error for the missing node or object.
func Missing(what, answer error) error { return &missing{what, answer} }

// Error names the missing node or object before the answer.
func (m *missing) Error() string { return m.what.Error() + ": " + m.answer.Error() }

// Unwrap returns both errors.
func (m *missing) Unwrap() []error { return []error{m.what, m.answer} }

// Missing returns both errors.
func (m *missing) Missing() (what, answer error) { return m.what, m.answer }

// Errors that the client itself reports. Package client exports these errors and says what each means.
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

// Transport is a connection that could not be made, or that was lost. Requests that were under way over the connection
// have an unknown outcome.
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

// Entry is why a host lets no connection of the client in, whatever requests would follow.
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

// Is reports whether the host does not know the client. A known client without some right is another case.
func (e *Entry) Is(target error) bool {
	return target == ErrUnauthenticated && Status(e.Err) == protocol.StatusUnauthorized
}

// IsTransport reports whether a request may be sent again over another connection because of the error.
func IsTransport(err error) bool {
	_, ok := errors.AsType[*Transport](err)
	return ok
}

// noAnswer is what an error says that has no host's answer. It is never written.
var noAnswer protocol.Error

// answer returns the host's answer in an error, noAnswer if the error has no answer.
func answer(err error) *protocol.Error {
	if e, ok := errors.AsType[*protocol.Error](err); ok {
		return e
	}
	return &noAnswer
}

// Status returns the status in an error: the status of success if the error is no host's answer.
func Status(err error) protocol.Status { return answer(err).Status }

// Refusal returns the status of a host's answer, and the status of success for a lost connection, whatever the cause
// of the loss.
func Refusal(err error) protocol.Status {
	if IsTransport(err) {
		return protocol.StatusSuccess
	}
	return Status(err)
}

// Wait returns how long the host asks to wait.
func Wait(err error) time.Duration { return answer(err).Wait }

// Since returns the number that a host gave for numbered requests, 0 for no number.
func Since(err error) uint64 { return answer(err).Since }

// MovedTo returns the host to go to instead, as a host has said.
func MovedTo(err error) *protocol.Moved { return &answer(err).Moved }

// Message returns the message of a host for people.
func Message(err error) string { return answer(err).Message }

// BadRequest is a refusal by the client itself.
func BadRequest(message string) error {
	return &protocol.Error{Status: protocol.StatusBadRequest, Message: message}
}

// overtaking says what an acquire was overtaken by, for the reasons of which there is an error.
var overtaking = map[protocol.AbortReason]error{
	protocol.AbortReplaced:    ErrReplaced,
	protocol.AbortReleased:    ErrReleased,
	protocol.AbortResized:     ErrResized,
	protocol.AbortDeleted:     ErrDeleted,
	protocol.AbortNodeDropped: ErrNodeNotFound,
}

// Aborted is the outcome of an acquire that was overtaken.
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

// Overtaken adds the reason to a host's answer that the acquire was overtaken.
func Overtaken(err error) error {
	if e := answer(err); e.Status == protocol.StatusAborted {
		return Aborted(e.Reason)
	}
	return err
}

// Lost is the cause of the end of a lease that was not ended by its own session.
func Lost(reason protocol.AbortReason) error {
	if reason == protocol.AbortDeleted {
		return fmt.Errorf("%w: %w", ErrLeaseLost, ErrDeleted)
	}
	return ErrLeaseLost
}

// InLoop returns a loop whose errors are converted by of.
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
