package workload

import (
	"context"
	"errors"
	"time"

	"github.com/signalbox/signalbox/client"
)

// again is the pause before something is tried again.
const again = 100 * time.Millisecond

// Open opens a client, however long that takes. It returns nil where the context ends before.
func Open(ctx context.Context, addresses string, options ...client.Option) *client.Client {
	for {
		c, err := client.Open(ctx, addresses, options...)
		if err == nil {
			return c
		}
		if !Sleep(ctx, again) {
			return nil
		}
	}
}

// Persist tries something until it is done or refused, or the context ends.
func Persist(ctx context.Context, try func() error) error {
	for {
		err := try()
		if err == nil || !errors.Is(err, client.ErrUnavailable) || !Sleep(ctx, again) {
			return err
		}
	}
}

// Make creates a semaphore that nobody else creates, however often that has to be tried.
func Make(ctx context.Context, node *client.Node, name string, limit uint64, data []byte) error {
	return Persist(ctx, func() error {
		err := node.Create(ctx, name, limit, data)
		if errors.Is(err, client.ErrAlreadyExists) {
			return nil // made by a try whose outcome was not known
		}
		return err
	})
}
