package config

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox/signalbox/client"
)

// farewellTime is how long an Edit that is over tries to end its session.
const farewellTime = time.Second

// Edit changes a piece of config by the function f, so that no change of another program gets lost: the value that f
// was given is the value that is replaced. f is given nil if the piece does not exist; if f returns an error, nothing
// changes and Edit returns the error. f is called again, with the newer value, if another write came first.
//
// While another session owns the semaphore an Edit waits, until the context ends. An Edit works in a session of its
// own, so that a write whose answer was lost is not carried out twice.
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
		_ = s.Close(ctx) // if no host can be reached, it ends by its timeout
	}()
	semaphore := s.Semaphore(name)
	for {
		err := rewrite(ctx, semaphore, f)
		if !errors.Is(err, errOvertaken) {
			return err
		}
	}
}

// errOvertaken says that another write, or an owner, came in between.
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

// overtaken turns a refusal because of another write into errOvertaken, after which Edit tries again.
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
