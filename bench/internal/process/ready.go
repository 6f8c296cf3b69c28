package process

import (
	"context"
	"fmt"
	"time"
)

// poll is how often a server that starts is asked whether it is ready.
const poll = 20 * time.Millisecond

// Await asks until a server is ready. It ends early when one of the processes is gone.
func Await(ctx context.Context, what string, servers []*Process, ready func(context.Context) error) error {
	again := time.NewTicker(poll)
	defer again.Stop()
	for {
		err := ready(ctx)
		if err == nil {
			return nil
		}
		for _, p := range servers {
			select {
			case <-p.Ended():
				return p.Err()
			default:
			}
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w: %w", what, context.Cause(ctx), err)
		case <-again.C:
		}
	}
}
