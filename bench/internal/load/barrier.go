package load

import (
	"context"
	"fmt"
	"sync/atomic"
)

// Parties is how many a double barrier has.
const Parties = 3

// Party is one party of a double barrier.
type Party struct{ Enter, Leave func(context.Context) error }

// Rounds is an operation: one round of a double barrier. All parties enter at the same time, and then leave. No party
// may enter before all have come, or leave before all have left. A failed round ends the run: the other parties would
// wait for ever.
func Rounds(parties []Party) Operation {
	return func(ctx context.Context) error {
		var r round
		ended := make(chan error, len(parties))
		for i := range parties {
			go func() { ended <- r.pass(ctx, parties[i], int32(len(parties))) }()
		}
		for range parties {
			if err := <-ended; err != nil {
				return err
			}
		}
		return nil
	}
}

// round counts a round's arrivals and departures.
type round struct{ come, gone atomic.Int32 }

func (r *round) pass(ctx context.Context, p Party, all int32) error {
	r.come.Add(1)
	if err := p.Enter(ctx); err != nil {
		return fmt.Errorf("%w: a party cannot enter: %w", ErrBroken, err)
	}
	if n := r.come.Load(); n != all {
		return fmt.Errorf("%w: %d of %d parties have come, and one is in", ErrBroken, n, all)
	}
	r.gone.Add(1)
	if err := p.Leave(ctx); err != nil {
		return fmt.Errorf("%w: a party cannot leave: %w", ErrBroken, err)
	}
	if n := r.gone.Load(); n != all {
		return fmt.Errorf("%w: %d of %d parties have gone, and one is out", ErrBroken, n, all)
	}
	return nil
}
