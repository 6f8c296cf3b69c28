package loadgen

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

func TestEachIsDoneOnce(t *testing.T) {
	const n = 1000
	var done [n]atomic.Int64
	check(t, each(t.Context(), n, func(_ context.Context, i int) error {
		done[i].Add(1)
		return nil
	}))
	for i := range done {
		if got := done[i].Load(); got != 1 {
			t.Fatalf("number %d was done %d times", i, got)
		}
	}
}

func TestEachEndsWithTheFirstError(t *testing.T) {
	var began atomic.Int64
	err := each(t.Context(), 1_000_000, func(ctx context.Context, i int) error {
		if began.Add(1) == opening {
			return errTest
		}
		if i < opening {
			<-ctx.Done()
		}
		return nil
	})
	if !errors.Is(err, errTest) || began.Load() > 2*opening {
		t.Errorf("the error is %v, after %d began", err, began.Load())
	}
}

func TestEachOfNothing(t *testing.T) {
	check(t, each(t.Context(), -1, nil))
}
