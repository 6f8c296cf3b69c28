package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
)

// farewellTime is how long an Edit that is over tries to give back what it owns.
const farewellTime = time.Second

// Edit changes a piece of config from what it is to what f makes of it, and lets nobody else who edits come
// in between. f is given nil where there is none; if it returns an error, nothing changes and Edit returns it.
// f may be called again with a newer value.
//
// An Edit waits for others of the same name, and for whoever owns the semaphore, until its context ends. It
// works in a session of its own, so that goroutines of one process exclude each other as well. The write is
// guarded by the lease: where that was lost meanwhile the host refuses it.
func Edit(ctx context.Context, c *client.Client, path, name string, f func(old []byte) ([]byte, error)) error {
	return failed("edit", name, edit(ctx, c, path, name, f))
}

func edit(ctx context.Context, c *client.Client, path, name string, f func(old []byte) ([]byte, error)) error {
	s, err := c.Session(ctx, path, client.Description("a config edit"))
	if err != nil {
		return err
	}
	var lease *client.Lease
	defer func() {
		// Where no host can be told the session ends by its timeout, and the others wait for that. The
		// lease goes first, because it may live in another shard, which hears of the session's end later.
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
		defer cancel()
		if lease != nil {
			_ = lease.Release(ctx)
		}
		_ = s.Close(ctx)
	}()
	semaphore := s.Semaphore(name)
	for {
		lease, err = semaphore.Acquire(ctx)
		switch {
		case err == nil:
			return rewrite(ctx, semaphore, lease, f)
		case !errors.Is(err, client.ErrNotFound) && !errors.Is(err, client.ErrDeleted):
			return err
		}
		value, err := f(nil)
		if err != nil {
			return err
		}
		// The creation itself tells whether there still is none.
		if err = semaphore.Create(ctx, limit, value); !errors.Is(err, client.ErrAlreadyExists) {
			return err
		}
	}
}

// rewrite replaces the value under a lease.
func rewrite(ctx context.Context, semaphore *client.Semaphore, lease *client.Lease, f func([]byte) ([]byte, error)) error {
	d, err := semaphore.Describe(ctx, client.WithConsistency(client.Strict))
	if err != nil {
		return err
	}
	if d.Limit != limit {
		return fmt.Errorf("%w: the semaphore has a limit of %d, so that owning it keeps nobody out; config needs a limit of %d",
			client.ErrPreconditionFailed, d.Limit, limit)
	}
	value, err := f(d.Data)
	if err != nil {
		return err
	}
	return putGuarded(ctx, lease, value)
}
