package main

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/loadgen"
)

// Exit codes.
const (
	exitDone       = 0   // measured, and all checks passed
	exitFailed     = 1   // the measurement failed
	exitCheck      = 3   // a cluster guarantee was violated
	exitOperations = 4   // more operations failed than allowed
	exitUsage      = 64  // the command line is wrong
	exitSignal     = 130 // interrupted
)

// usageError is an error in the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitCode returns the exit code for an error. A violated guarantee has priority over failed operations, and an
// interrupt comes last, because an interrupted run may have found a violation.
func exitCode(ctx context.Context, err error) int {
	if err == nil {
		return exitDone
	}
	if _, ok := errors.AsType[usageError](err); ok {
		return exitUsage
	}
	switch {
	case errors.Is(err, loadgen.ErrCheck):
		return exitCheck
	case errors.Is(err, loadgen.ErrOperations):
		return exitOperations
	case ctx.Err() != nil:
		return exitSignal
	}
	return exitFailed
}
