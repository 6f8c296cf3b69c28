package main

import (
	"context"
	"errors"

	"github.com/signalbox/signalbox/loadgen"
)

// The exit codes of this program.
const (
	exitDone       = 0   // measured, and everything held
	exitFailed     = 1   // the measurement failed
	exitCheck      = 3   // a promise of the cluster was broken
	exitOperations = 4   // more operations failed than may
	exitUsage      = 64  // the command line is wrong
	exitSignal     = 130 // broken off
)

// usageError is a mistake in the command line.
type usageError struct{ error }

func (u usageError) Unwrap() error { return u.error }

// exitCode returns the exit code for an error. A broken promise of the cluster comes before failed operations, and an
// interrupt comes last, because an interrupted run may have found a broken promise.
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
