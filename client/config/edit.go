package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
)

// farewellTime is the maximum time for Edit to close its session at the end.
const farewellTime = time.Second

// Edit changes a config entry with the function f without losing concurrent changes: the value passed to f is the value
// that gets replaced. f receives nil if the entry does not exist. If f returns an error, nothing changes and Edit
// returns the error. If another write came first, Edit calls f again with the newer value.
//
// While another session owns the semaphore, Edit waits until the context ends. Edit uses its own session, so a write
// whose response was lost is not applied twice.
func Edit(ctx context.Context, c *client.Client, path, name string, f func(old []byte) ([]byte, error)) error {
	return failed("edit", name, edit(ctx, c, path, name, f))
}

func edit(ctx context.Context, c *client.Client, path, name string, f func(old []byte) ([]byte, error)) error {
	s, err := c.Session(ctx, path, client.Description("a config edit"))
	if err != nil {
		return err
	}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), farewellTime)
		defer cancel()
		_ = s.Close(ctx) // if no host is reachable, the session ends by its timeout
	}()
	semaphore := s.Semaphore(name)
	for {
		err := rewrite(ctx, semaphore, f)
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
}

// errOvertaken reports a concurrent write or owner.
var errOvertaken = errors.New("the entry was changed concurrently")

// rewrite replaces the value once, if nothing comes in between.
func rewrite(ctx context.Context, semaphore *client.Semaphore, f func([]byte) ([]byte, error)) error {
	d, err := semaphore.Describe(ctx, client.WithConsistency(client.Strict))
	switch {
	case errors.Is(err, client.ErrSemaphoreNotFound):
		value, err := f(nil)
		if err != nil {
			return err
		}
		// The creation itself reports whether the piece was created meanwhile.
		return overtaken(semaphore.Create(ctx, limit, value), client.ErrAlreadyExists)
	case err != nil:
		return err
	case d.OwnerCount > 0:
		if err := unowned(ctx, semaphore); err != nil {
			return err
		}
		return errOvertaken
	}
	value, err := f(d.Data)
	if err != nil {
		return err
	}
	err = semaphore.Update(ctx, value, client.IfRevision(d.Revision))
	return overtaken(overtaken(err, client.ErrPreconditionFailed), client.ErrSemaphoreNotFound)
}

// overtaken turns a rejection caused by a concurrent write into errOvertaken, so that Edit retries.
func overtaken(err, by error) error {
	if errors.Is(err, by) {
		return fmt.Errorf("%w: %w", errOvertaken, err)
	}
	return err
}

// unowned waits until no session owns the semaphore.
func unowned(ctx context.Context, semaphore *client.Semaphore) error {
	for v, err := range semaphore.Watch(ctx, client.OwnersOnly()) {
		if err != nil {
			return err
		}
		if v.Len() == 0 {
			break
		}
	}
	return nil
}
