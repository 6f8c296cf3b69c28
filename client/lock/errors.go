package lock

import (
	"errors"
	"fmt"
)

var (
	// ErrNotObtained: the lock was not got, and nothing was run. What prevented it is in the error too:
	// client.ErrNotAcquired where Wait has passed, or the cause of the context.
	ErrNotObtained = errors.New("the lock was not obtained")
	// ErrLost: the lock was got, and lost before it was given back. Others may have had it meanwhile.
	ErrLost = errors.New("the lock was lost")
	// ErrNotHeld: the lock is not held, so it cannot be unlocked.
	ErrNotHeld = errors.New("the lock is not held")
)

func notObtained(name string, cause error) error {
	return fmt.Errorf("lock: obtain %q: %w: %w", name, ErrNotObtained, cause)
}
