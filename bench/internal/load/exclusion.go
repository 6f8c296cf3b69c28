package load

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Exclusion checks that a lock has one holder at a time.
type Exclusion struct{ holders atomic.Int32 }

// Cycle is an operation that takes the lock and gives it back.
func (e *Exclusion) Cycle(lock, unlock func(context.Context) error) Operation {
	return func(ctx context.Context) error {
		if err := lock(ctx); err != nil {
			return err
		}
		if n := e.holders.Add(1); n != 1 {
			return fmt.Errorf("%w: one lock has %d holders", ErrBroken, n)
		}
		e.holders.Add(-1)
		return unlock(ctx)
	}
}
