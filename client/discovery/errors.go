package discovery

import (
	"errors"
	"strconv"

	"github.com/signalbox/signalbox/client/internal/failure"
)

var (
	// ErrWithdrawn: the registration was closed by its own user.
	ErrWithdrawn = errors.New("the endpoint is withdrawn")
	// ErrFull: the semaphore was made with a limit, and as many endpoints as that are published.
	ErrFull = errors.New("the semaphore has a limit, which is reached; lists of endpoints need one without")
)

// failed names the operation and its subject in front of an error.
func failed(operation, name string, err error) error {
	return failure.Of("discovery", operation, strconv.Quote(name), err)
}
