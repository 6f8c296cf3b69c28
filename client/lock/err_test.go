package lock_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"

	"github.com/signalbox/signalbox/client"
	"github.com/signalbox/signalbox/client/lock"
)

func TestErrTellsWhetherTheLockIsHeldNow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		g := newStage(t)
		if err := lock.Err(t.Context()); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("under no lock: %v", err)
		}
		s := g.Session()
		var after context.Context
		err := lock.Do(t.Context(), s, "nightly", func(ctx context.Context, _ uint64) error {
			after = ctx
			if err := lock.Err(ctx); err != nil {
				t.Errorf("while it is held: %v", err)
			}
			inner, cancel := context.WithCancel(ctx)
			defer cancel()
			if err := lock.Err(inner); err != nil {
				t.Errorf("by a context made from it: %v", err)
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := lock.Err(after); !errors.Is(err, lock.ErrNotHeld) {
			t.Errorf("after the function has returned: %v", err)
		}
		err = lock.Do(t.Context(), s, "nightly", func(ctx context.Context, _ uint64) error {
			g.Destroy(s)
			<-ctx.Done()
			if err := lock.Err(ctx); !errors.Is(err, lock.ErrLost) || !errors.Is(err, client.ErrSessionExpired) {
				t.Errorf("after it was lost: %v", err)
			}
			return nil
		})
		if !errors.Is(err, lock.ErrLost) {
			t.Error(err)
		}
	})
}
