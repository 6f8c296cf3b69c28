package client

import "errors"

// transportError is a connection that could not be made, or that was lost. What was under way over it has
// an unknown outcome.
type transportError struct {
	address string
	err     error
}

func (e *transportError) Error() string { return "host " + e.address + ": " + e.err.Error() }

func (e *transportError) Unwrap() error { return e.err }

// Is makes a lost connection one of the ways in which a cluster is not available.
func (e *transportError) Is(target error) bool { return target == ErrUnavailable }

// isTransport tells whether a request may be sent again over another connection because of the error.
func isTransport(err error) bool {
	if err == nil {
		return false // at once: what errors.As is given is allocated
	}
	var t *transportError
	return errors.As(err, &t)
}
