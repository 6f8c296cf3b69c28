package cli

import (
	"errors"
	"fmt"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/barrier"
	"github.com/signalbox/signalbox/client/process"
	"github.com/signalbox/signalbox/client/rollout"
)

// The codes that signalbox exits with. Those from 64 to 78 are of sysexits.h, those above are its own. The Go
// runtime exits with 2 when the program crashes, so nothing else does: a supervisor can distinguish what a
// restart may mend. signalbox help exit-codes describes every code.
const (
	ExitDone        = 0  // done, or stopped as asked
	ExitFailed      = 1  // a failure without a code of its own
	ExitUsage       = 64 // the command line or the settings are wrong
	ExitData        = 65 // the data directory cannot be used
	ExitNotFound    = 66 // no such node, semaphore, rollout, process, session or context
	ExitUnavailable = 69 // no host could be asked in time, or it cannot do it now; an address cannot be listened on
	ExitExists      = 73 // the thing to be created exists already
	ExitNotAcquired = 75 // not acquired in time
	ExitAgain       = 75 // it cannot be done now, for want of room on the disk, and can be later
	ExitNoRight     = 77 // the token is wrong, or does not give the right
	ExitState       = 79 // the state forbids the change: in use, fenced, of a wrong version, a quota exceeded
	ExitLost        = 80 // what was held is lost: the lease, the session, the part in a process
	ExitSignal      = 128
)

// coded is an error with the code to exit with.
type coded struct {
	error
	code int
}

func (c coded) Unwrap() error { return c.error }

// ExitWith gives an error its code. The error may be ErrSilent.
func ExitWith(code int, err error) error {
	if err == nil {
		return nil
	}
	return coded{err, code}
}

// Errorf returns an error with its code, formatted as by fmt.Errorf.
func Errorf(code int, format string, args ...any) error {
	return ExitWith(code, fmt.Errorf(format, args...))
}

// ErrSilent is an error without a message: the code alone reports the failure.
var ErrSilent = errors.New("")

// codeOf maps errors of the client to codes. The order counts, because an earlier row is more exact.
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

// ExitCode returns the code that a command ends with because of an error: that of ExitWith, or what follows from
// the client's error.
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
