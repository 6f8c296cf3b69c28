package workload

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
)

// retryPause is the pause before an operation is tried again.
const retryPause = 100 * time.Millisecond

// Sleep waits, and reports whether it waited to the end.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// Open opens a client, with retries. It returns nil if the context ends first.
func Open(ctx context.Context, addresses string, options ...client.Option) *client.Client {
	for {
		c, err := client.Open(ctx, addresses, options...)
		if err == nil {
			return c
		}
		if !Sleep(ctx, retryPause) {
			return nil
		}
	}
}

// Persist tries an operation until it succeeds or is refused, or the context ends.
func Persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || !errors.Is(err, client.ErrUnavailable) || !Sleep(ctx, retryPause) {
			return err
		}
	}
}

// Make creates a semaphore that no other client creates, with retries.
func Make(ctx context.Context, node *client.Node, name string, limit uint64, data []byte) error {
	return Persist(ctx, func() error {
		err := node.Create(ctx, name, limit, data)
		if errors.Is(err, client.ErrAlreadyExists) {
			return nil // an earlier try with an unknown outcome has created it
		}
		return err
	})
}
