package cli

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
)

// Exit codes of signalbox. Codes from 64 to 78 are from sysexits.h, those above are specific to signalbox. The Go
// runtime exits with 2 when the program crashes, so no other failure uses 2: a supervisor can recognise failures that
// a restart may repair. signalbox help exit-codes describes every code.
const (
	ExitDone        = 0  // done, or stopped as requested
	ExitFailed      = 1  // a failure without a specific code
	ExitUsage       = 64 // the command line or the settings are wrong
	ExitData        = 65 // the data directory cannot be used
	ExitNotFound    = 66 // no such node, semaphore, rollout, process, session or context
	ExitUnavailable = 69 // no host was available in time, or an address cannot be listened on
	ExitExists      = 73 // the object to create already exists
	ExitNotAcquired = 75 // not acquired in time
	ExitAgain       = 75 // impossible now because the disk is full; may succeed later
	ExitNoRight     = 77 // the token is invalid, or lacks the right
	ExitState       = 79 // the state forbids the change: in use, fenced, wrong version, quota exceeded
	ExitLost        = 80 // lost a lease, a session, or membership in a process
	ExitSignal      = 128
)

// coded is an error with an exit code.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// ExitWith attaches an exit code to an error. The error may be ErrSilent.
func ExitWith(code int, err error) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// Errorf returns a formatted error with an exit code, like fmt.Errorf.
func Errorf(code int, format string, args ...any) error {
	return ExitWith(code, fmt.Errorf(format, args...))
}

// ErrSilent is an error without a message: only the exit code reports the failure.
var ErrSilent = errors.New("")

// codeOf maps client errors to codes. The order matters, because earlier rows are more specific.
var codeOf = []struct {
	err  error
	code int
}{
	{client.ErrNotAcquired, ExitNotAcquired},
	{process.ErrEvicted, ExitLost},
	{barrier.ErrLost, ExitLost},
	{client.ErrLeaseLost, ExitLost},
	{client.ErrSessionExpired, ExitLost},
	{client.ErrBadSession, ExitLost},
	{client.ErrDeleted, ExitLost},
	{client.ErrAborted, ExitLost},
	{client.ErrUnauthorized, ExitNoRight},
	{client.ErrNotFound, ExitNotFound},
	{rollout.ErrNotFound, ExitNotFound},
	{process.ErrNotFound, ExitNotFound},
	{client.ErrPreconditionFailed, ExitState},
	{client.ErrQuotaExceeded, ExitState},
	{client.ErrAlreadyExists, ExitExists},
	{client.ErrFenced, ExitState},
	{client.ErrBadRequest, ExitUsage},
	{client.ErrUnavailable, ExitUnavailable},
	{client.ErrOverloaded, ExitUnavailable},
	{client.ErrStorageFull, ExitUnavailable},
	{errTooSlow, ExitUnavailable},
}

// ExitCode returns the exit code for an error: the one from ExitWith, or the one for the client's error.
func ExitCode(err error) int {
	if err == nil {
		return ExitDone
	}
	if c, ok := errors.AsType[coded](err); ok {
		return c.code
	}
	if s, ok := errors.AsType[*Interrupted](err); ok {
		return s.Code()
	}
	for _, known := range codeOf {
		if errors.Is(err, known.err) {
			return known.code
		}
	}
	return ExitFailed
}
